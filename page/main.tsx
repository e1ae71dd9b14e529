import { render } from 'preact'
import { App } from './frame/app.tsx'

const place = document.getElementById('page') as HTMLElement
place.replaceChildren()
render(<App />, place)
