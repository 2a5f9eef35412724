import { number, plural } from './numbers.ts';

export const actions = {
  open: 'Actions',
  of: (name: string) => `Actions of ${name}`,
  ofSelected: (count: number) => `Actions of ${plural(count, 'selected object', 'selected objects')}`,
  tooMany: (limit: number) => `It takes at most ${number.format(limit)} objects.`,
  objects: (count: number) => `It concerns ${plural(count, 'object', 'objects')}, one after the other:`,
  running: 'Under way…',
  succeeded: (count: number) => `Done for ${plural(count, 'object', 'objects')}.`,
  failed: (count: number) => `It failed for ${plural(count, 'object', 'objects')}:`,
};
