import { useMemo, useState } from 'react';
import { models } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { modelOfPath } from './links.ts';

interface KeptModel {
  /** As it was last, if it is not served any more. */
  model: ModelInfo | undefined;
  isServed: boolean;
}

/**
 * The model of a path on whose page a person may type. It keeps the version in which the page began while the server
 * has it, and stays when its plugin stops, so that nothing is lost that was typed.
 */
export function useModelOfPath(group: string, plural: string): KeptModel {
  useObservable(models);
  const found = modelOfPath(group, plural);
  const [version, setVersion] = useState(found?.version);
  if (version === undefined && found !== undefined) setVersion(found.version);
  const served = useMemo(
    () =>
      found === undefined || version === undefined || !found.versions.includes(version) ? found : { ...found, version },
    [found, version],
  );
  const [last, setLast] = useState(served);
  if (served !== undefined && served !== last) setLast(served);
  return { model: served ?? last, isServed: served !== undefined };
}
