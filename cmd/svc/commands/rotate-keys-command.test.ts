import { expect, test } from '@jest/globals';
import type { RotationResult } from '#pkg/access/index';
import { describeRotation } from './rotate-keys-command.ts';

const none: RotationResult = {
  accessKeys: 0,
  privateTokens: 0,
  objects: 0,
  unreadable: 0,
  isNewKey: false,
  dropped: 0,
  old: 1,
};
const file = '/etc/svc/credentials/key';

test.each<{ reason: string; result?: Partial<RotationResult>; file?: string; dropOld: boolean; last: string }>([
  {
    reason: 'a file',
    file,
    dropOld: false,
    last: 'Nothing needs the old keys any more: svc rotate-keys --drop-old removes them.',
  },
  {
    reason: 'a file that was replaced',
    file,
    dropOld: true,
    result: { dropped: 1, old: 0 },
    last: `1 old key dropped from ${file}.`,
  },
  {
    reason: 'a file that a pod has from a Secret',
    file,
    dropOld: true,
    result: { obstacle: 'EROFS' },
    last: `Nothing needs the old keys any more, and the database has removed them. ${file} cannot be replaced here (EROFS): set it to the first key alone where it comes from.`,
  },
  {
    reason: 'an option',
    dropOld: false,
    last: 'Nothing needs the old keys any more: run svc rotate-keys --drop-old, then set svc.security.key to the first key alone.',
  },
  {
    reason: 'an option, and the database knows one key',
    dropOld: true,
    last: 'Nothing needs the old keys any more, and the database has removed them: set svc.security.key to the first key alone.',
  },
  {
    reason: 'a file, and a secret that cannot be opened',
    file,
    dropOld: true,
    result: { unreadable: 1, obstacle: 'EROFS' },
    last: '1 secret cannot be opened, and is kept with its key.',
  },
])('the remaining steps are shown: $reason', ({ result, file: path, dropOld, last }) => {
  expect(describeRotation({ ...none, ...result }, { file: path, dropOld }).at(-1)).toBe(last);
});
