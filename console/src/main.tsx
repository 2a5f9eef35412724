import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { showAppearance } from './interface/appearance.ts';
import { texts } from './texts/texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './styles.css';

showAppearance();
document.documentElement.lang = texts.language;
createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
