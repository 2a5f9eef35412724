import { StatusError } from '@svc/client';
import { useRef, useState } from 'react';

export type Warn = (text: string) => void;

interface Warnings {
  /** What the server warned of in its newest answer. */
  warnings: readonly string[];
  /** Sends a request, which must give `warn` on: its warnings take the place of those before. */
  noteWarnings: <T>(send: (warn: Warn) => Promise<T>) => Promise<T>;
  forgetWarnings: () => void;
}

const none: readonly string[] = [];

/** What the server warns of in the answers to one form: unknown fields that it dropped, for example. */
export function useWarnings(): Warnings {
  const [warnings, setWarnings] = useState(none);
  const newest = useRef(0);
  return {
    warnings,
    noteWarnings: async (send) => {
      newest.current += 1;
      const own = newest.current;
      const said: string[] = [];
      const show = (texts: readonly string[]): void => {
        if (own === newest.current) setWarnings(texts);
      };
      try {
        const answer = await send((text) => void said.push(text));
        show(said);
        return answer;
      } catch (error) {
        // One that was given up says nothing about the draft.
        if (error instanceof StatusError) show(none);
        throw error;
      }
    },
    forgetWarnings: () => {
      newest.current += 1;
      setWarnings(none);
    },
  };
}
