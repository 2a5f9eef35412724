import { useState } from 'react';
import { models } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { modelOfPath } from './links.ts';

interface KeptModel {
  /** As it was last, if it is not served any more. */
  model: ModelInfo | undefined;
  isServed: boolean;
}

/** The model of a path. It stays when its plugin stops: what somebody has typed is not lost. */
export function useModelOfPath(group: string, plural: string): KeptModel {
  useObservable(models);
  const current = modelOfPath(group, plural);
  const [last, setLast] = useState(current);
  if (current !== undefined && current !== last) setLast(current);
  return { model: current ?? last, isServed: current !== undefined };
}
