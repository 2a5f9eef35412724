import { useEffect } from 'react';
import { texts } from '../texts/texts.ts';

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
}
