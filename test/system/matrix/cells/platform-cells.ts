import type { SeededRandom } from '../../harness/seeded-random.ts';
import { identifyOnPlatform, type Credential } from '../model/credential.ts';
import { judgePlatform, requesterOf, type Impersonation, type PlatformQuestion } from '../model/platform-model.ts';
import { isAllowed, type Attributes, type Requester } from '../model/rbac.ts';
import type { Facts } from '../fixtures/facts.ts';
import type { MatrixRequest } from '../wire/matrix-request.ts';
import type { CredentialStore } from '../wire/credential-store.ts';
import { describe } from './access-cells.ts';
import type { Cell } from './cell.ts';
import type { PlatformRoute } from './platform-routes.ts';
import { somebody } from './sample.ts';

export interface PlatformCells {
  readonly facts: Facts;
  readonly credentialStore: CredentialStore;
  readonly routes: readonly PlatformRoute[];
}

/** Share of reviews; the other cells send the request itself. */
const reviewShare = 0.25;
const narrowedShare = 0.25;
const impersonationShare = 0.12;
/** Share of HEAD among reads; like GET without the body. */
const headShare = 0.06;

/** The cell of a number: routes in turn, everything else random. */
export function platformCell(
  number: number,
  random: SeededRandom,
  { facts, credentialStore, routes }: PlatformCells,
): Cell {
  const asked = routes[number % routes.length]!;
  const {
    person,
    another,
    credential: plain,
  } = somebody(random, facts.people, credentialStore, () => true, facts.services);
  const credential = narrowed(random, plain, credentialStore.restrictionsOf(person));
  const server = random.chance(0.5) ? 'platform' : 'basic';
  const impersonation = random.chance(impersonationShare) ? somebodyElse(random, facts) : undefined;
  const review =
    random.chance(reviewShare) && typeof asked.asks !== 'string' ? reviewOf(random, asked.asks, facts) : undefined;
  const operation = review?.route ?? headed(random, asked);
  const question: PlatformQuestion = {
    operation,
    credential,
    person,
    isBasicOn: server === 'basic',
    book: facts.book,
    ...(impersonation === undefined ? {} : { impersonation }),
  };
  const verdict = judgePlatform(question);
  const reviews =
    verdict.allowed && review !== undefined
      ? isAllowed(facts.book, review.of ?? requesterIn(question), review.attributes)
      : undefined;
  return {
    number,
    credential: credential.name,
    ...(person.isService === true ? { service: person.username } : {}),
    facts: {
      route: `${operation.method} ${operation.target}${operation.grants === undefined ? '' : ` ${JSON.stringify(operation.grants)}`}${review === undefined ? '' : ` ${JSON.stringify(operation.body)}`}`,
      ...(credential.restriction === undefined ? {} : { 'narrowed to': credential.restriction }),
      person: describe(person),
      server: server === 'basic' ? 'the replica that takes Basic' : 'the one that does not',
      ...(impersonation === undefined
        ? {}
        : { impersonates: [impersonation.username, ...impersonation.groups].join(', ') }),
    },
    verdict,
    ...(reviews === undefined ? {} : { reviews }),
    ...(operation.isStream === true ? { isStream: true } : {}),
    request: (origins) => {
      const headers: MatrixRequest['headers'] = {
        ...(operation.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...operation.headers,
      };
      if (impersonation !== undefined)
        Object.assign(headers, {
          'Impersonate-User': impersonation.username,
          ...(impersonation.groups.length === 0 ? {} : { 'Impersonate-Group': impersonation.groups }),
        });
      const request: MatrixRequest = {
        server,
        method: operation.method,
        target: operation.target,
        headers,
        ...(operation.body === undefined ? {} : { body: JSON.stringify(operation.body) }),
      };
      credentialStore.present(credential, request, { person, another, origin: origins[server] });
      return request;
    },
  };
}

/** For a resource HEAD means `get`; for a path the verb is the method, as in Kubernetes. */
function headed(random: SeededRandom, route: PlatformRoute): PlatformRoute {
  const { method, asks, isStream } = route;
  if (method !== 'GET' || isStream === true || !random.chance(headShare)) return route;
  return {
    ...route,
    method: 'HEAD',
    asks: typeof asks !== 'string' && 'path' in asks ? { ...asks, verb: 'head' } : asks,
  };
}

function narrowed(random: SeededRandom, credential: Credential, restrictions: readonly string[]): Credential {
  const { header } = credential;
  if (
    header?.kind !== 'personal' ||
    header.fault !== undefined ||
    restrictions.length === 0 ||
    random.chance(narrowedShare)
  )
    return credential;
  return { ...credential, restriction: random.pick(restrictions) };
}

function somebodyElse(random: SeededRandom, { people, orgs: { a } }: Facts): Impersonation {
  const username = random.chance(0.3) ? 'matrix-stranger' : random.pick(people).username;
  return {
    username,
    groups: random.pick([[], [], ['matrix-red'], ['system:masters'], [`org:${a}:OrgAdmin`, 'matrix-blue']]),
  };
}

function requesterIn({ person, credential, impersonation, isBasicOn }: PlatformQuestion): Requester {
  if (impersonation !== undefined)
    return { username: impersonation.username, groups: [...impersonation.groups, 'system:authenticated'] };
  const identity = identifyOnPlatform(credential, person, isBasicOn);
  return requesterOf(
    person,
    typeof identity === 'object' && identity.via === 'header' ? credential.restriction : undefined,
  );
}

/** A review instead of the request, about the own user or `of`. */
function reviewOf(
  random: SeededRandom,
  attributes: Attributes,
  { people }: Facts,
): { route: PlatformRoute; attributes: Attributes; of?: Requester } {
  const isAboutSelf = random.chance(0.6);
  const kind = isAboutSelf ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const resource = `${kind.toLowerCase()}s`;
  const of = isAboutSelf ? undefined : requesterOf(random.pick(people));
  const spec = {
    ...('path' in attributes
      ? { nonResourceAttributes: attributes }
      : { resourceAttributes: { version: 'v1', ...attributes } }),
    ...(of === undefined ? {} : { user: of.username, groups: of.groups }),
  };
  const route: PlatformRoute = {
    method: 'POST',
    target: `/apis/authorization.k8s.io/v1/${resource}`,
    asks: { group: 'authorization.k8s.io', resource, verb: 'create' },
    status: [201],
    body: { apiVersion: 'authorization.k8s.io/v1', kind, spec },
  };
  return { route, attributes, ...(of === undefined ? {} : { of }) };
}
