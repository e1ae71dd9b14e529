import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Copies a text, and says whether that worked. */
export function CopyButton({ words, text }: { words: string; text: () => string }): JSX.Element {
  const [said, say] = useState('')
  useEffect(() => {
    if (said === '') return
    const timeout = setTimeout(() => say(''), 2_500)
    return () => clearTimeout(timeout)
  }, [said])
  const copy = async (): Promise<void> => {
    say((await copyText(text())) ? 'Copied' : 'The browser does not allow it: select and copy it yourself')
  }
  return (
    <span class="row">
      <span role="status" class="note">
        {said}
      </span>
      <button type="button" class="quiet" onClick={copy}>
        {words}
      </button>
    </span>
  )
}

/** Browsers give pages that come over plain HTTP from another machine no clipboard, but still the old command. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'visually-hidden'
    const focused = document.activeElement
    document.body.append(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    if (focused instanceof HTMLElement) focused.focus()
    return isCopied
  }
}
