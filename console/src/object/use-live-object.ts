import { isStatusError, type AnyObject, type Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { followObjects, type StreamState } from '../server/follow-changes.ts';
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
      if (!signal.aborted) setState((known) => withNewest(known, next));
    };
    let isFollowed = false;
    // It is there before the stream is, and also for who may get an object but not watch it.
    const read = async (): Promise<void> => {
      const next = await resource.get(name, { signal }).then(
        (object) => ({ object, isGone: false, failure: undefined }),
        (failure: unknown) => (isStatusError(failure, 'NotFound') ? { object: undefined, isGone: true } : { failure }),
      );
      if (!isFollowed) change(next);
    };
    void read();
    followObjects(resource, {
      signal,
      selection: { where: { 'metadata.name': name } },
      onObjects: ([object]) => {
        isFollowed = true;
        change({ object, isGone: object === undefined, failure: undefined });
      },
      onState: (stream) => change({ stream }),
      isEnd: (failure) => isStatusError(failure, 'Forbidden'),
    });
    return () => end.abort();
  }, [model, namespace, name]);
  return state;
}

/** What is read before the stream begins may be newer than its first answer. */
function withNewest(known: FollowedObject, next: Partial<FollowedObject>): FollowedObject {
  const isOlder =
    known.object !== undefined && next.object !== undefined && revisionOf(next.object) < revisionOf(known.object);
  return isOlder ? { ...known, ...next, object: known.object } : { ...known, ...next };
}

function revisionOf({ metadata }: Stored<AnyObject>): number {
  return Number(metadata.resourceVersion);
}
