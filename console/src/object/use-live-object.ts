import { isStatusError, type AnyObject, type Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { followChanges, type StreamState } from '../server/follow-changes.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';

export interface FollowedObject {
  /** Undefined until it is read, and when it is gone. */
  object: Stored<AnyObject> | undefined;
  isGone: boolean;
  failure: unknown;
  stream: StreamState;
}

const nothing: FollowedObject = {
  object: undefined,
  isGone: false,
  failure: undefined,
  stream: { name: 'connecting' },
};

/** An object as the server has it now. */
export function useLiveObject(model: ModelInfo, namespace: string, name: string): FollowedObject {
  const [state, setState] = useState(nothing);
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    const resource = resourceOf(model, namespace);
    const change = (next: Partial<FollowedObject>): void => {
      if (!signal.aborted) setState((known) => ({ ...known, ...next }));
    };
    const read = async (): Promise<void> => {
      try {
        change({ object: await resource.get(name, { signal }), isGone: false, failure: undefined });
      } catch (error) {
        if (isStatusError(error, 'NotFound')) change({ object: undefined, isGone: true });
        else change({ failure: error });
      }
    };
    void read();
    followChanges(resource, {
      signal,
      selection: { where: { 'metadata.name': name } },
      onEvents: (events) => {
        const last = events.at(-1);
        if (last === undefined || last.type === 'BOOKMARK') void read();
        else if (last.type === 'DELETED') change({ object: undefined, isGone: true });
        else change({ object: last.object, isGone: false, failure: undefined });
      },
      onState: (stream) => change({ stream }),
      // Who may get an object but not watch it reads it once.
      isEnd: (failure) => isStatusError(failure, 'Forbidden'),
    });
    return () => end.abort();
  }, [model, namespace, name]);
  return state;
}
