import type { SeededRandom } from '../../harness/seeded-random.ts';
import { badCredentials, goodCredentials } from '../model/credentials.ts';
import type { Credential } from '../model/credential.ts';
import type { Person } from '../model/person.ts';
import type { CredentialStore } from '../wire/credential-store.ts';

/** Most credential faults have the same effect, so valid ones get a larger share. */
const goodShare = 0.6;
/** Two users among many, with rights that nobody else has. */
const serviceShare = 0.2;

/** A random user of `people`, or sometimes of `services`, with one of their credentials; `another` is of `people`. */
export function somebody(
  random: SeededRandom,
  people: readonly Person[],
  credentialStore: CredentialStore,
  taken: (credential: Credential) => boolean,
  services: readonly Person[] = [],
): { person: Person; another: Person; credential: Credential } {
  const another = random.pick(people.filter(({ isAlive }) => isAlive));
  const callers = services.length > 0 && random.chance(serviceShare) ? services : people;
  for (;;) {
    const credential = random.pick((random.chance(goodShare) ? goodCredentials : badCredentials).filter(taken));
    const owners = callers.filter((each) => each !== another && credentialStore.has(credential, each));
    if (owners.length > 0) return { person: random.pick(owners), another, credential };
  }
}
