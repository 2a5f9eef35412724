import { rotateKeys, type AccessDatabase, type KeyRing, type RotationResult } from '#pkg/access/index';
import { withAccessDatabase } from '../composition/open-operator-database.ts';
import { withSecretErrors, openNeededSecrets } from '../composition/open-secrets.ts';
import { sealedObjects } from '../composition/sealed-objects.ts';
import type { Options } from '../options/option-table.ts';

/**
 * Seals every stored secret with a new key, or drops the old keys, and prints counts; 0 if all secrets could be opened.
 * Throws OperatorError.
 */
export function rotate(options: Options, dropOld: boolean): Promise<number> {
  return withAccessDatabase(options, async (database) => {
    const ring = await openNeededSecrets(database, options);
    const result = await withSecretErrors(run(database, ring, dropOld));
    for (const line of describeRotation(result, { file: ring.file?.path, dropOld })) process.stdout.write(`${line}\n`);
    return result.unreadable === 0 ? 0 : 1;
  });
}

async function run(database: AccessDatabase, ring: KeyRing, dropOld: boolean): Promise<RotationResult> {
  const rotation = rotateKeys({ database, ring, objects: sealedObjects(database.pool), dropOld });
  for (;;) {
    const { done, value } = await rotation.next();
    if (done === true) return value;
  }
}

/**
 * Describes what was done and what remains, a sentence or two in each line; `file` is the path of the key file, if
 * there is one.
 */
export function describeRotation(
  result: RotationResult,
  { file, dropOld }: { file: string | undefined; dropOld: boolean },
): string[] {
  const { accessKeys, privateTokens, objects, unreadable, isNewKey, dropped, old, obstacle } = result;
  const lines = [
    `Sealed anew: ${count(accessKeys, 'access key')}, ${count(privateTokens, 'private token')}, ${count(objects, 'Secret')}.`,
  ];
  if (unreadable > 0) lines.push(`${count(unreadable, 'secret')} cannot be opened, and is kept with its key.`);
  if (isNewKey) lines.push(`There is a new key in ${file}.`);
  if (!isNewKey && !dropOld && file !== undefined)
    lines.push(`No new key was generated, because ${file} still has old ones.`);
  if (dropped > 0) lines.push(`${count(dropped, 'old key')} dropped from ${file}.`);
  if (unreadable === 0 && old > 0)
    lines.push(`Nothing needs the old keys any more${afterwards(file, dropOld, obstacle)}`);
  return lines;
}

function afterwards(file: string | undefined, dropOld: boolean, obstacle: string | undefined): string {
  if (obstacle !== undefined)
    return `, and the database has removed them. ${file} cannot be replaced here (${obstacle}): set it to the first key alone where it comes from.`;
  if (file !== undefined) return ': svc rotate-keys --drop-old removes them.';
  if (dropOld) return ', and the database has removed them: set svc.security.key to the first key alone.';
  return ': run svc rotate-keys --drop-old, then set svc.security.key to the first key alone.';
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
