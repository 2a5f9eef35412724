import { startAccessTest, type AccessTest, type AccessTestParts } from '../../accesstest/start-access-test.ts';
import { testCredential } from '../../accesstest/test-credential.ts';
import type { Operation } from '../../operations/operation.ts';
import { registerKey } from '../../secrets/key-checks.ts';
import { KeyRing } from '../../secrets/key-ring.ts';
import { SecretBox } from '../../secrets/secret-box.ts';
import { SecretKey } from '../../secrets/secret-key.ts';
import { accessKeyOperations } from '../access-key-operations.ts';
import { AccessKeys, type AccessKeySettings } from '../access-keys.ts';
import { signatureCredentials } from '../signature-credentials.ts';
import { SignatureVerifier } from '../signature-verifier.ts';

export interface KeyTest extends AccessTest {
  readonly userId: string;
  /** Adds a key of the user; omitted settings have their defaults. */
  readonly addKey: (settings?: Partial<AccessKeySettings>) => Promise<TestKey>;
}

export interface TestKey {
  keyId: string;
  secret: string;
}

export interface KeyTestOptions {
  maxSkewMs?: number;
  requiresDigest?: boolean;
  trustedProxies?: readonly string[];
  operations?: readonly Operation[];
}

/** The real AccessServer with access keys, which also accepts `Authorization: Bearer <user id>`; and a user. */
export async function startKeyTest({
  maxSkewMs,
  requiresDigest,
  trustedProxies = [],
  operations = [],
}: KeyTestOptions = {}): Promise<KeyTest> {
  const key = SecretKey.generate();
  const secrets = new SecretBox(new KeyRing([key]));
  const keysOf = ({ access, audit }: AccessTestParts): AccessKeys =>
    new AccessKeys({ database: access, secrets, audit });
  const server = await startAccessTest({
    trustedProxies,
    credentials: ({ access, audit, log }) => {
      const settings = {
        ...(maxSkewMs === undefined ? {} : { maxSkewMs }),
        ...(requiresDigest === undefined ? {} : { requiresDigest }),
      };
      return [
        ...signatureCredentials(new SignatureVerifier({ database: access, secrets, audit, log, ...settings })),
        testCredential,
      ];
    },
    operations: (parts) => [...accessKeyOperations(keysOf(parts)), ...operations],
  });
  await registerKey(server.access.pool, key);
  const userId = await server.addUser({ username: 'mia' });
  const keys = keysOf(server);
  return {
    ...server,
    userId,
    addKey: async (settings = {}) => {
      const created = await keys.create(
        { actor: { id: userId, username: 'mia' } },
        { ipGroup: ['*'], isActive: true, ...settings },
      );
      if (created === undefined) throw new Error('the user has as many keys as may be');
      return { keyId: created.key.id, secret: created.secret };
    },
  };
}
