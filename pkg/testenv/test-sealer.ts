import { KeyRing, ObjectSealer, SecretKey } from '#pkg/access/index';

/** A sealer with a new key, or with none. */
export function newTestSealer({ hasKey = true }: { hasKey?: boolean } = {}): ObjectSealer {
  return new ObjectSealer(new KeyRing(hasKey ? [SecretKey.generate()] : []));
}

/** The sealer of all test servers in this process. */
export const testSealer = newTestSealer();
