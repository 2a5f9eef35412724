/** What one user sends without a pause, one kind in each phase. */
export const floodNames = [
  'small reads',
  'large lists',
  'large bodies',
  'creates',
  'watches opened and closed',
  'leases',
] as const;
export type FloodName = (typeof floodNames)[number];
