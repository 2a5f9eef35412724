export const content = {
  openList: 'Open the list',
  created: 'Created:',
  done: (label: string) => `Done: ${label}`,
  noIndex: (index: string, kind: string) => `${kind} has no index ${index} of one value.`,
};
