import { number, plural } from './numbers.ts';

export const exported = {
  open: 'Export',
  title: 'Export objects',
  which: 'Which objects',
  selected: (count: number) => `The ${number.format(count)} selected`,
  all: 'All that match the filter',
  format: 'Format',
  formats: { yaml: 'YAML, a document for each object', jsonl: 'JSON lines, a line for each object' },
  strip: 'Leave out what the server sets',
  stripHint: 'Without uid, revision, status and the like a file can be applied elsewhere.',
  start: 'Export',
  stop: 'Stop',
  progress: (count: number) => `${plural(count, 'object', 'objects')} read`,
  stopped: 'Stopped; nothing is saved.',
  done: (count: number, file: string) => `${plural(count, 'object', 'objects')} in ${file}.`,
};
