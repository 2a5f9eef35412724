import type { SeededRandom } from '../../harness/seeded-random.ts';
import { badCredentials, goodCredentials } from '../model/credentials.ts';
import type { Credential } from '../model/credential.ts';
import type { Person } from '../model/person.ts';
import type { CredentialStore } from '../wire/credential-store.ts';

/** Most faults of credentials look alike to what comes after them, so good ones have more than their share. */
const goodShare = 0.6;

/** Somebody, and a way to present themselves that they have got. */
export function somebody(
  random: SeededRandom,
  people: readonly Person[],
  credentialStore: CredentialStore,
  taken: (credential: Credential) => boolean,
): { person: Person; another: Person; credential: Credential } {
  const another = random.pick(people.filter(({ isAlive }) => isAlive));
  for (;;) {
    const credential = random.pick((random.chance(goodShare) ? goodCredentials : badCredentials).filter(taken));
    const owners = people.filter((each) => each !== another && credentialStore.has(credential, each));
    if (owners.length > 0) return { person: random.pick(owners), another, credential };
  }
}
