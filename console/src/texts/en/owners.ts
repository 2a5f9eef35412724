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
  hide: 'Hide dependents',
  hideOf: (name: string) => `Hide dependents of ${name}`,
  looking: (done: number, all: number) => `${number.format(done)} of ${number.format(all)} models read…`,
  none: 'No object that you may list names it as its owner.',
  incomplete: 'There are many models: of those without dependents, new ones show when you hide and find them again.',
  partial: (models: string) => `These could not be listed: ${models}.`,
  count: (kind: string, count: string) => `${kind}: ${count}`,
};
