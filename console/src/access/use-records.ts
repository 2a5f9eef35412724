import { useCallback, useEffect, useState } from 'react';
import { pageSize, readRecord, readRecords, type RecordQuery, type RecordPage } from './access-api.ts';

interface ReadState<T> {
  value: T | undefined;
  failure: unknown;
  /** Reads again; what is shown stays until the answer comes. */
  reload: () => void;
}

/** One page of a list, counted from 0. `path` undefined: not read. */
export function useRecords<T>(path: string | undefined, query: RecordQuery, page = 0): ReadState<RecordPage<T>> {
  const text = JSON.stringify(query);
  const read = useCallback(
    (signal: AbortSignal) =>
      readRecords<T>(path!, JSON.parse(text) as RecordQuery, { limit: pageSize, offset: page * pageSize, signal }),
    [path, text, page],
  );
  return useReading(path === undefined ? undefined : read);
}

/** The answer to one GET. `path` undefined: not read. */
export function useRecord<T>(path: string | undefined, query: RecordQuery = {}): ReadState<T> {
  const text = JSON.stringify(query);
  const read = useCallback(
    (signal: AbortSignal) => readRecord<T>(path!, JSON.parse(text) as RecordQuery, signal),
    [path, text],
  );
  return useReading(path === undefined ? undefined : read);
}

/** Undefined: nothing is read. Another function is read at once. */
export function useReading<T>(read: ((signal: AbortSignal) => Promise<T>) | undefined): ReadState<T> {
  const [value, setValue] = useState<T | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (read === undefined) return undefined;
    const end = new AbortController();
    read(end.signal).then(
      (answer) => {
        if (!end.signal.aborted) {
          setValue(answer);
          setFailure(undefined);
        }
        return undefined;
      },
      (error: unknown) => {
        if (!end.signal.aborted) setFailure(error);
      },
    );
    return () => end.abort();
  }, [read, count]);
  const reload = useCallback(() => setCount((before) => before + 1), []);
  return { value, failure, reload };
}
