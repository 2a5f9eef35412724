import type { PageLook } from '@svc/client/page';
import { useEffect, useState } from 'react';
import { appearance } from '../interface/appearance.ts';
import { useObservable } from '../server/observable.ts';
import { texts } from '../texts/texts.ts';

const colors = [
  '--text',
  '--muted',
  '--page',
  '--surface',
  '--line',
  '--accent',
  '--accent-text',
  '--danger',
  '--danger-text',
  '--hover',
  '--selected',
  '--good',
  '--warning',
] as const;
const darkScheme = matchMedia('(prefers-color-scheme: dark)');

/** How the console looks, for pages of plugins. */
export function usePageLook(): PageLook {
  const chosen = useObservable(appearance);
  const [isDark, setDark] = useState(darkScheme.matches);
  useEffect(() => {
    const change = (): void => setDark(darkScheme.matches);
    darkScheme.addEventListener('change', change);
    return () => darkScheme.removeEventListener('change', change);
  }, []);
  const styles = getComputedStyle(document.documentElement);
  return {
    scheme: chosen === 'system' ? (isDark ? 'dark' : 'light') : chosen,
    language: texts.language,
    // Each has both schemes, and the page shows the one that it is told.
    colors: Object.fromEntries(colors.map((name) => [name, styles.getPropertyValue(name)])),
  };
}
