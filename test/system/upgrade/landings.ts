/** A commit of main with a complete product, which users may have installed. */
export interface Milestone {
  readonly commit: string;
  /** What the commit completed. */
  readonly word: string;
}

/** Oldest first. They cover every state of the lists of migrations; `migration-states.ts` checks that. */
export const landings: readonly Milestone[] = [
  { commit: '5e7ed3a31cbe0ca7f2223ab8002f32b5baf0dac1', word: 'storage' },
  { commit: 'd985cf6d3d7f84e5151ed829f4a9ed20e254a754', word: 'endurance' },
  { commit: '12578c54dfd8666206fcc733bf4d28190d4bdc88', word: 'controllers' },
  { commit: '4d8b09221516e969353e151773246ca821c40355', word: 'plugins' },
  { commit: '44acc3fb792e5d5edabc5d00c1085795acd8c21b', word: 'identity' },
  { commit: 'af56dcc5360265e5041c528839bc579b37122bee', word: 'shipping' },
  { commit: '9b3e75d87566848a77d8b1d1c28991b2f3135483', word: 'redesign' },
  { commit: '30b50bf37d616779e3a8cb1cb4d6c16ab26e65e8', word: 'audit' },
  { commit: 'f6288860f197f4bb60d1c0e9b859eefe7c866c85', word: 'failover' },
  { commit: 'b09332ab388e00f1fd456b335972e7d264e7f66f', word: 'quotas' },
  { commit: '9f0b740666f34e6722a71386a1e8eb9a13dec034', word: 'apply' },
  { commit: 'e727ed9e97f6647bbb5b088db7c0e3a91c179811', word: 'console' },
];

/** The previous landing, N-1, which must run next to this version. */
export const previousLanding = landings.at(-1)!;
