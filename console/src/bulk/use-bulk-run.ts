import { useEffect, useRef, useState } from 'react';
import { messageOf } from '../interface/failure-note.tsx';

export interface BulkFailure<Item> {
  item: Item;
  message: string;
}

export interface BulkProgress<Item> {
  state: 'running' | 'stopped' | 'done';
  all: number;
  succeeded: number;
  failures: readonly BulkFailure<Item>[];
  /** What the server warned of, and for how many items. */
  warnings: ReadonlyMap<string, number>;
}

/** Does one item, and calls `warn` with what the server warns of. */
export type BulkWork<Item> = (item: Item, warn: (text: string) => void) => Promise<void>;

export interface BulkRun<Item> {
  /** Undefined before the start. */
  progress: BulkProgress<Item> | undefined;
  /** Works on all of them, a few at a time, until they are done or `stop` is called. */
  start: (items: readonly Item[], work: BulkWork<Item>) => Promise<void>;
  stop: () => void;
  reset: () => void;
}

const concurrent = 4;

/** The same work on many items; those that fail are listed, and the others go on. It stops when the dialog is closed. */
export function useBulkRun<Item>(): BulkRun<Item> {
  const [progress, setProgress] = useState<BulkProgress<Item> | undefined>(undefined);
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  const start = async (items: readonly Item[], work: BulkWork<Item>): Promise<void> => {
    end.current = new AbortController();
    const { signal } = end.current;
    const failures: BulkFailure<Item>[] = [];
    const warnings = new Map<string, number>();
    const warn = (text: string): void => void warnings.set(text, (warnings.get(text) ?? 0) + 1);
    const now: BulkProgress<Item> = { state: 'running', all: items.length, succeeded: 0, failures, warnings };
    const show = (): void => setProgress({ ...now });
    show();
    const waiting = items.values();
    const workOn = async (): Promise<void> => {
      for (const item of waiting) {
        // No further one begins; those that have begun end.
        if (signal.aborted) return;
        try {
          await work(item, warn);
          now.succeeded += 1;
        } catch (error) {
          failures.push({ item, message: messageOf(error) });
        }
        show();
      }
    };
    await Promise.all(Array.from({ length: concurrent }, workOn));
    now.state = signal.aborted ? 'stopped' : 'done';
    show();
  };
  return { progress, start, stop: () => end.current.abort(), reset: () => setProgress(undefined) };
}
