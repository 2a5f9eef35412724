/** The areas of attack; each file is one area. */
import type { AttackArea } from '../fuzz-case.ts';
import { applies } from './applies.ts';
import { builtInKinds } from './built-in-kinds.ts';
import { continueTokens } from './continue-tokens.ts';
import { definitions } from './definitions.ts';
import { fieldSelectors } from './field-selectors.ts';
import { headers } from './headers.ts';
import { jsonBodies } from './json-bodies.ts';
import { labelSelectors } from './label-selectors.ts';
import { lists } from './lists.ts';
import { managedFields } from './managed-fields.ts';
import { names } from './names.ts';
import { patches } from './patches.ts';
import { personalTokens } from './personal-tokens.ts';
import { protobufBodies } from './protobuf-bodies.ts';
import { quotas } from './quotas.ts';
import { rawSockets } from './raw-sockets.ts';
import { roundTrips } from './round-trips.ts';
import { streams } from './streams.ts';
import { strategicPatches } from './strategic-patches.ts';
import { tables } from './tables.ts';
import { targets } from './targets.ts';
import { typedObjects } from './typed-objects.ts';
import { watches } from './watches.ts';
import { webSockets } from './web-sockets.ts';
import { yamlBodies } from './yaml-bodies.ts';

export const areas: readonly AttackArea[] = [
  labelSelectors,
  fieldSelectors,
  lists,
  continueTokens,
  watches,
  streams,
  jsonBodies,
  roundTrips,
  patches,
  yamlBodies,
  names,
  headers,
  tables,
  targets,
  rawSockets,
  typedObjects,
  definitions,
  personalTokens,
  quotas,
  builtInKinds,
  webSockets,
  applies,
  managedFields,
  strategicPatches,
  protobufBodies,
];
