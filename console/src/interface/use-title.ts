import { createContext, useContext, useEffect } from 'react';
import { texts } from '../texts/texts.ts';

/** Which of the products of this build the page is of. */
export const ProductName = createContext(texts.product);

export function useTitle(title: string): void {
  const product = useContext(ProductName);
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title, product]);
}
