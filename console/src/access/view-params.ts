import { useSearchParams } from 'wouter';

/** What a page shows, from its URL; a change of anything but the page shows the first page. */
export function useViewParams(): {
  get: (name: string) => string;
  page: number;
  set: (changes: Readonly<Record<string, string>>) => void;
} {
  const [params, setParams] = useSearchParams();
  const page = Number(params.get('page') ?? '1');
  return {
    get: (name) => params.get(name) ?? '',
    page: Number.isInteger(page) && page > 0 ? page - 1 : 0,
    set: (changes) => {
      const next = new URLSearchParams(params);
      next.delete('page');
      for (const [name, value] of Object.entries(changes)) {
        if (value === '') next.delete(name);
        else next.set(name, value);
      }
      setParams(next, { replace: true });
    },
  };
}
