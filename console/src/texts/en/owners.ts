import { number } from './numbers.ts';

export const owners = {
  title: 'Owners and dependents',
  noOwners: 'No object owns this one.',
  ownedBy: 'Owned by',
  gone: 'does not exist',
  unreadable: 'cannot be read',
  circle: 'is named above',
  find: 'Find dependents',
  findOf: (name: string) => `Find dependents of ${name}`,
  again: 'Look again',
  againOf: (name: string) => `Look again for dependents of ${name}`,
  looking: (done: number, all: number) => `${number.format(done)} of ${number.format(all)} models read…`,
  none: 'No object that you may list names it as its owner.',
  partial: (models: string) => `These could not be listed: ${models}.`,
  count: (kind: string, count: string) => `${kind}: ${count}`,
};
