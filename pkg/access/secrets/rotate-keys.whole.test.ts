import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { addUser } from '../accesstest/add-user.ts';
import { Audit } from '../audit/audit.ts';
import { accessMigrations } from '../migrations.ts';
import { PrivateTokens } from '../tokens/private-tokens.ts';
import type { KeyRing } from './key-ring.ts';
import { openKeyRing } from './open-key-ring.ts';
import { rotateKeys, type RotateKeysOptions, type RotationResult, type RotationStep } from './rotate-keys.ts';
import { SecretBox } from './secret-box.ts';
import { SecretKey } from './secret-key.ts';
import { sealedTables } from './sealed-tables.ts';

const userCount = 5;
const keysPerUser = 2;

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let folder: string;
let dataDir: string;
let users: { username: string; id: string; token: string }[];
let accessKeys: { id: string; secret: string }[];
let count = 0;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  folder = mkdtempSync(join(tmpdir(), 'svc-rotate-'));
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE access.users, access.key_checks CASCADE');
  count += 1;
  dataDir = join(folder, String(count));
  const replica = await startReplica();
  users = [];
  accessKeys = [];
  for (let i = 0; i < userCount; i += 1) {
    const username = `user-${i}`;
    const id = await addUser(access, { username });
    users.push({ username, id, token: await replica.tokens.create(username) });
    for (let k = 0; k < keysPerUser; k += 1) accessKeys.push(await addAccessKey(replica, id));
  }
});
afterAll(async () => {
  await database.close();
  await home.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Replica {
  ring: KeyRing;
  box: SecretBox;
  tokens: PrivateTokens;
}

/** The state that a server keeps in memory. */
async function startReplica(): Promise<Replica> {
  const ring = await openKeyRing(access, { dataDir });
  const box = new SecretBox(ring);
  return { ring, box, tokens: new PrivateTokens({ database: access, box, audit: new Audit(access) }) };
}

async function addAccessKey({ box }: Replica, userId: string): Promise<{ id: string; secret: string }> {
  const key = { id: randomUUID(), secret: randomUUID() };
  const values = [key.id, userId, box.seal(key.secret, sealedTables.accessKeys.purposeOf(key.id))];
  await database.pool.query('INSERT INTO access.access_keys (id, user_id, secret) VALUES ($1, $2, $3)', values);
  return key;
}

/** Checks that this server accepts every credential. */
async function checkAll({ box, tokens }: Replica): Promise<void> {
  const owners = await Promise.all(users.map(({ token }) => tokens.findOwner(token)));
  expect(owners).toEqual(users.map(({ id }) => id));
  const { rows } = await database.pool.query<{ id: string; secret: Buffer }>(
    'SELECT id, secret FROM access.access_keys',
  );
  const secrets = new Map(rows.map(({ id, secret }) => [id, box.open(secret, sealedTables.accessKeys.purposeOf(id))]));
  expect(accessKeys.map(({ id }) => secrets.get(id))).toEqual(accessKeys.map(({ secret }) => secret));
}

async function run(
  options: Omit<RotateKeysOptions, 'database'>,
  onStep: () => Promise<void> = async () => {},
): Promise<{ steps: RotationStep[]; result: RotationResult }> {
  const steps: RotationStep[] = [];
  const rotation = rotateKeys({ database: access, batchSize: 3, ...options });
  for (;;) {
    const { done, value } = await rotation.next();
    if (done === true) return { steps, result: value };
    steps.push(value);
    await onStep();
  }
}

/** Stops after this number of steps, as if the process was killed. */
async function runUntilKilled(options: Omit<RotateKeysOptions, 'database'>, steps: number): Promise<boolean> {
  const rotation = rotateKeys({ database: access, batchSize: 3, ...options });
  for (let i = 0; i < steps; i += 1) if ((await rotation.next()).done === true) return false;
  await rotation.return(undefined as never);
  return true;
}

const usedKeys = async (): Promise<string[]> =>
  (
    await database.pool.query<{ id: string }>(
      'SELECT sealed_by AS id FROM access.access_keys UNION SELECT sealed_by FROM access.private_tokens',
    )
  ).rows.map(({ id }) => id);
const registered = async (): Promise<number> =>
  (await database.pool.query('SELECT 1 FROM access.key_checks')).rows.length;
const keysInFile = (): number => readFileSync(join(dataDir, 'secret-key'), 'utf8').trim().split('\n').length;
const all = userCount + userCount * keysPerUser;

describe('a rotation', () => {
  test('seals everything with a new key while servers run and start; then the old key can be removed', async () => {
    const [early, idle] = [await startReplica(), await startReplica()];
    const first = early.ring.primary.id;
    const check = async (): Promise<void> => {
      await checkAll(early);
      await checkAll(await startReplica());
      // Keeps creating credentials meanwhile.
      accessKeys.push(await addAccessKey(early, users[0]!.id));
      users[1]!.token = await early.tokens.rotate(users[1]!.username);
    };
    const { ring } = await startReplica();
    const rotation = await run({ ring }, check);
    expect(rotation.steps.slice(0, 3)).toEqual(['key registered', 'key written', 'batch sealed']);
    expect(rotation.result).toMatchObject({ isNewKey: true, unreadable: 0, dropped: 0, old: 1 });
    expect(await usedKeys()).toEqual([ring.primary.id]);
    expect(ring.primary.id).not.toBe(first);

    const { steps, result } = await run({ ring: early.ring, dropOld: true }, check);
    expect(steps).toEqual(['keys forgotten', 'keys dropped']);
    expect(result).toMatchObject({ isNewKey: false, dropped: 1, old: 0 });
    expect([keysInFile(), await registered()]).toEqual([1, 1]);
    // Has not read the file since before the rotations.
    expect(idle.ring.primary.id).toBe(first);
    await checkAll(idle);
    accessKeys.push(await addAccessKey(idle, users[0]!.id));
    await checkAll(idle);
  });

  test('killed after any step and repeated, has the same result', async () => {
    let step = 1;
    for (; await runUntilKilled({ ring: (await startReplica()).ring }, step); step += 1) {
      await checkAll(await startReplica());
      const { ring } = await startReplica();
      const { result } = await run({ ring });
      expect({ step, ...result }).toMatchObject({ step, unreadable: 0 });
      expect(await usedKeys()).toEqual([ring.primary.id]);
      // The next rotation starts with one key.
      await run({ ring, dropOld: true });
      expect([keysInFile(), await registered()]).toEqual([1, 1]);
      await checkAll(await startReplica());
    }
    // Two steps of the key, and one per batch of three in ten and in five.
    expect(step - 1).toBe(2 + 4 + 2);
  });

  test('whose removal of keys was killed after any step removes all old keys, and no needed one', async () => {
    for (let step = 1; step <= 2; step += 1) {
      const { ring } = await startReplica();
      await run({ ring });
      expect(await runUntilKilled({ ring: (await startReplica()).ring, dropOld: true }, step)).toBe(true);
      await checkAll(await startReplica());
      await run({ ring: (await startReplica()).ring, dropOld: true });
      expect([keysInFile(), await registered()]).toEqual([1, 1]);
      await checkAll(await startReplica());
    }
  });

  test('completes the previous one, and creates no further key until the old one is dropped', async () => {
    const { ring } = await startReplica();
    await runUntilKilled({ ring }, 3);
    const { result } = await run({ ring: (await startReplica()).ring });
    expect(result).toMatchObject({ isNewKey: false, old: 1 });
    expect(result.accessKeys + result.privateTokens).toBe(all - 3);
    expect((await run({ ring: (await startReplica()).ring })).result).toMatchObject({
      isNewKey: false,
      accessKeys: 0,
      privateTokens: 0,
      objects: 0,
      old: 1,
    });
    expect(keysInFile()).toBe(2);
  });

  test('is refused while another one runs', async () => {
    const { ring } = await startReplica();
    const rotation = rotateKeys({ database: access, ring });
    await rotation.next();
    await expect(run({ ring: (await startReplica()).ring })).rejects.toThrow('Another svc rotate-keys is running');
    await rotation.return(undefined as never);
    await run({ ring: (await startReplica()).ring });
  });

  test('with keys of an option seals with the first, and creates none', async () => {
    const { ring: fileRing } = await startReplica();
    const next = SecretKey.generate();
    const ring = await openKeyRing(access, { keys: `${next.reveal()},${fileRing.primary.reveal()}`, dataDir });
    const { result } = await run({ ring });
    expect(result).toEqual({
      accessKeys: userCount * keysPerUser,
      privateTokens: userCount,
      objects: 0,
      unreadable: 0,
      isNewKey: false,
      dropped: 0,
      old: 1,
    });
    expect(await usedKeys()).toEqual([next.id]);
    expect((await run({ ring })).result).toMatchObject({ accessKeys: 0, privateTokens: 0 });
    expect((await run({ ring, dropOld: true })).result).toMatchObject({ dropped: 0, old: 1 });
    expect(await registered()).toBe(1);
    expect((await openKeyRing(access, { keys: next.reveal(), dataDir })).primary.id).toBe(next.id);
  });
});

describe('with a file that cannot be replaced', () => {
  /**
   * The keys of the data folder in a file whose name leaves no room for that of a temporary file; a read-only mount
   * fails in the same place.
   */
  function fixedFile(text: string): string {
    const keyFile = join(dataDir, 'k'.repeat(240));
    writeFileSync(keyFile, text, { mode: 0o600 });
    return keyFile;
  }
  const held = (): string => readFileSync(join(dataDir, 'secret-key'), 'utf8');

  test('no key is created, and the database is unchanged', async () => {
    const keyFile = fixedFile(held());
    const ring = await openKeyRing(access, { keyFile, dataDir });
    await expect(run({ ring })).rejects.toThrow(
      `${keyFile} cannot be replaced here (ENAMETOOLONG), so no new key was made: `,
    );
    expect([await registered(), await usedKeys()]).toEqual([1, [ring.primary.id]]);
  });

  test('keys that an operator added are used; old ones are dropped from the database only', async () => {
    const next = SecretKey.generate();
    const keyFile = fixedFile(`${next.reveal()}\n${held()}`);
    const ring = await openKeyRing(access, { keyFile, dataDir });
    expect((await run({ ring })).result).toMatchObject({
      isNewKey: false,
      accessKeys: userCount * keysPerUser,
      unreadable: 0,
      old: 1,
    });
    const { steps, result } = await run({ ring, dropOld: true });
    expect(steps).toEqual(['keys forgotten']);
    expect(result).toMatchObject({ dropped: 0, old: 1, obstacle: 'ENAMETOOLONG' });
    expect([await registered(), await usedKeys(), ring.file?.read()?.length]).toEqual([1, [next.id], 2]);
    // The operator then edits the file.
    writeFileSync(keyFile, next.reveal());
    const after = await openKeyRing(access, { keyFile, dataDir });
    expect((await run({ ring: after, dropOld: true })).result).toMatchObject({ dropped: 0, old: 0 });
    expect(await registered()).toBe(1);
  });
});

describe('a secret that cannot be opened', () => {
  test('stays, is counted, and keeps its key from being dropped', async () => {
    const { ring } = await startReplica();
    const [spoilt] = accessKeys;
    await database.pool.query("UPDATE access.access_keys SET secret = secret || '\\x00' WHERE id = $1", [spoilt!.id]);
    const { result } = await run({ ring });
    expect(result).toMatchObject({
      isNewKey: true,
      unreadable: 1,
      accessKeys: userCount * keysPerUser - 1,
      privateTokens: userCount,
      objects: 0,
    });
    expect((await run({ ring, dropOld: true })).result).toMatchObject({ unreadable: 1, dropped: 0, old: 1 });
    await database.pool.query('DELETE FROM access.access_keys WHERE id = $1', [spoilt!.id]);
    expect((await run({ ring, dropOld: true })).result).toMatchObject({ unreadable: 0, dropped: 1, old: 0 });
  });
});

test('the old key is not dropped while a server is about to store something under it', async () => {
  const { ring, box } = await startReplica();
  await run({ ring });
  const late = SecretKey.parse(readFileSync(join(dataDir, 'secret-key'), 'utf8').trim().split('\n')[1]!)!;
  const id = randomUUID();
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('INSERT INTO access.access_keys (id, user_id, secret) VALUES ($1, $2, $3)', [
    id,
    users[0]!.id,
    late.seal('late', sealedTables.accessKeys.purposeOf(id)),
  ]);
  const dropping = run({ ring, dropOld: true });
  // It waits for the transaction, whose row is not visible to it.
  while (
    (
      await database.pool.query(
        'SELECT 1 FROM pg_stat_activity WHERE wait_event_type = \'Lock\' AND query LIKE \'delete from "access"."key_checks"%\' AND datname = current_database()',
      )
    ).rows.length === 0
  );
  await client.query('COMMIT');
  client.release();
  const { steps, result } = await dropping;
  expect(steps).toEqual(['batch sealed', 'keys forgotten', 'keys dropped']);
  expect(result).toMatchObject({ accessKeys: 1, dropped: 1 });
  accessKeys.push({ id, secret: 'late' });
  await checkAll({ ring, box, tokens: (await startReplica()).tokens });
});
