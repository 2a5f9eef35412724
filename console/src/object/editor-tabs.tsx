import { useSyncExternalStore } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { texts } from '../texts/texts.ts';

/** `both`: next to each other, where there is room; else it is the form. */
export type EditorView = 'form' | 'yaml' | 'both';

export function editorView(tab: string | null): EditorView | undefined {
  return tab === 'form' || tab === 'yaml' || tab === 'both' ? tab : undefined;
}

/** As in form.css. */
const wide = matchMedia('(min-width: 75rem)');

function useIsWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      wide.addEventListener('change', listener);
      return () => wide.removeEventListener('change', listener);
    },
    () => wide.matches,
  );
}

/** The links that choose how a draft is shown. */
export function EditorTabs({ view }: { view: EditorView | undefined }) {
  const [location] = useLocation();
  const [params] = useSearchParams();
  const isWide = useIsWide();
  const shown = view === 'both' && !isWide ? 'form' : view;
  const link = (of: EditorView, text: string) => {
    const query = new URLSearchParams(params);
    query.set('tab', of);
    query.delete('page');
    return (
      <Link
        href={`${location}?${query.toString()}`}
        className={of === 'both' ? 'tab-both' : ''}
        aria-current={shown === of ? 'page' : undefined}
      >
        {text}
      </Link>
    );
  };
  return (
    <>
      {link('form', texts.form.tab)}
      {link('yaml', texts.object.yaml)}
      {link('both', texts.form.both)}
    </>
  );
}
