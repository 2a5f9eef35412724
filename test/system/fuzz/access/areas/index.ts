/** The areas of attack on access management; each file is one area. */
import type { AttackArea } from '../../fuzz-case.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { credentials } from './credentials.ts';
import { logins } from './logins.ts';
import { pageForms } from './pages.ts';
import { paths } from './paths.ts';
import { queries } from './queries.ts';
import { records } from './records.ts';
import { signatures } from './signatures.ts';

export const accessAreas: readonly AttackArea<AccessUsers>[] = [
  credentials,
  signatures,
  logins,
  queries,
  records,
  pageForms,
  paths,
];
