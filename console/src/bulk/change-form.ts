import type { JsonObject } from '@svc/client';
import { TextFault } from '../editor/yaml-text.ts';
import { readText } from '../object/editable-text.ts';
import { texts } from '../texts/texts.ts';

/** A label or an annotation that is set or removed. */
export interface PairChange {
  place: 'labels' | 'annotations';
  action: 'set' | 'remove';
  key: string;
  value: string;
}

export interface ChangeForm {
  mode: 'pairs' | 'patch';
  pairs: readonly PairChange[];
  patch: string;
}

export const emptyPair: PairChange = { place: 'labels', action: 'set', key: '', value: '' };

/** The merge patch that a form describes. @throws TextFault */
export function patchOf({ mode, pairs, patch }: ChangeForm): JsonObject {
  if (mode === 'pairs') return patchOfPairs(pairs);
  const [object, ...others] = readText(patch);
  if (object === undefined || others.length > 0 || Object.keys(object).length === 0)
    throw new TextFault(texts.bulk.change.noPatch);
  return object;
}

function patchOfPairs(pairs: readonly PairChange[]): JsonObject {
  if (pairs.length === 0 || pairs.some(({ key }) => key.trim() === '')) throw new TextFault(texts.bulk.change.noKey);
  const metadata: JsonObject = {};
  for (const place of ['labels', 'annotations'] as const) {
    const own = pairs.filter((pair) => pair.place === place);
    if (own.length > 0)
      metadata[place] = Object.fromEntries(
        own.map(({ key, action, value }) => [key.trim(), action === 'set' ? value : null]),
      );
  }
  return { metadata };
}
