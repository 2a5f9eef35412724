/** The fields of attack on access management; an area is a file. */
import type { Area } from '../../fuzz-case.ts';
import type { AccessWorld } from '../access-world.ts';
import { credentials } from './credentials.ts';
import { logins } from './logins.ts';
import { pageForms } from './pages.ts';
import { paths } from './paths.ts';
import { queries } from './queries.ts';
import { records } from './records.ts';
import { signatures } from './signatures.ts';

export const accessAreas: readonly Area<AccessWorld>[] = [
  credentials,
  signatures,
  logins,
  queries,
  records,
  pageForms,
  paths,
];
