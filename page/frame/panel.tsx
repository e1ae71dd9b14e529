import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

/** A titled part of a view. */
export function Panel(props: {
  title: string
  aside?: ComponentChildren
  class?: string
  children: ComponentChildren
}): JSX.Element {
  const id = useId()
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  )
}
