import { number, plural } from './numbers.ts';

export const events = {
  title: 'Events',
  total: (count: number, isLowerBound: boolean) =>
    `${isLowerBound ? 'at least ' : ''}${plural(count, 'event', 'events')}`,
  none: 'There are no events. The server keeps an event for an hour.',
  more: (count: number) => `Show ${number.format(count)} more`,
  type: 'Type',
  allTypes: 'All',
  types: { Warning: 'Warnings', Normal: 'Normal' },
  kind: 'Kind',
  kindExample: 'Post',
  name: 'Name of the object',
  apply: 'Filter',
  clear: 'Show all',
  age: 'Last seen',
  object: 'Object',
};
