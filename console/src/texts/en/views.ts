import { number } from './numbers.ts';

export const views = {
  open: 'Views',
  title: (kind: string) => `Views of ${kind}`,
  more: (count: number) => `and ${number.format(count)} more in its list`,
  none: 'Nobody has saved a view of this model.',
  all: 'Everything',
  save: 'Save what is shown as a view',
  name: 'Title',
  description: 'Description',
  add: 'Save',
  replace: 'Replace',
  saved: (title: string) => `Saved as ${title}. Everybody can see it.`,
  remove: (title: string) => `Delete the view ${title}`,
  removed: (title: string) => `${title} is deleted.`,
};
