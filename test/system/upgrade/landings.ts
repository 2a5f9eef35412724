/** A commit of main at which the product was whole, as somebody may have installed it. */
export interface Landing {
  readonly commit: string;
  /** What it was the landing of. */
  readonly word: string;
}

/**
 * Oldest first. Every state that the lists of migrations have been in is among them; `migration-states.ts` finds out
 * whether that is so.
 */
export const landings: readonly Landing[] = [
  { commit: '5e7ed3a31cbe0ca7f2223ab8002f32b5baf0dac1', word: 'storage' },
  { commit: 'd985cf6d3d7f84e5151ed829f4a9ed20e254a754', word: 'endurance' },
  { commit: '12578c54dfd8666206fcc733bf4d28190d4bdc88', word: 'controllers' },
  { commit: '4d8b09221516e969353e151773246ca821c40355', word: 'plugins' },
  { commit: '44acc3fb792e5d5edabc5d00c1085795acd8c21b', word: 'identity' },
  { commit: 'af56dcc5360265e5041c528839bc579b37122bee', word: 'shipping' },
];

/** The landing before the one that is being worked on: N-1, which runs beside this. */
export const previousLanding = landings.at(-1)!;
