import type { JSX } from 'preact'

interface Props {
  /** What a row is about. */
  readonly of: string
  /** What the numbers in it are. */
  readonly numbers: readonly string[]
}

/** The heads of a table of numbers. */
export function ColumnHeads({ of, numbers }: Props): JSX.Element {
  return (
    <thead>
      <tr>
        <th scope="col">{of}</th>
        {numbers.map((number) => (
          <th key={number} scope="col" class="number">
            {number}
          </th>
        ))}
      </tr>
    </thead>
  )
}
