import type { AccessRoute } from './access-routes.ts';

interface Parameter {
  in?: string;
  name?: string;
  $ref?: string;
}

interface ServedDocument {
  paths: Record<string, Record<string, { parameters?: Parameter[] }> & { parameters?: Parameter[] }>;
  components?: { parameters?: Record<string, Parameter> };
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * Reads which operations the access service's document assigns to an organization, and where it differs from the routes
 * of the matrix.
 */
export function readDocument(
  document: unknown,
  routes: readonly AccessRoute[],
): { inOrganization: Set<string>; problems: string[] } {
  const { paths, components } = document as ServedDocument;
  const nameOf = ({ name, $ref }: Parameter): string | undefined =>
    name ?? components?.parameters?.[$ref?.split('/').at(-1) ?? '']?.name;
  const served = new Map<string, boolean>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of methods) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const parameters = [...(operations.parameters ?? []), ...(operation.parameters ?? [])];
      served.set(
        `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{id}')}`,
        parameters.some((each) => nameOf(each)?.toLowerCase() === 'x-svc-org'),
      );
    }
  }
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const problems = [
    ...[...served.keys()].filter((each) => !known.has(each)).map((each) => `${each} is served and in no cell`),
    ...routes
      .filter(({ method, path, isUndocumented }) => isUndocumented !== true && !served.has(`${method} ${path}`))
      .map(({ method, path }) => `${method} ${path} is in the contract and not in the document`),
    ...routes
      .filter(
        ({ method, path, mustBeInOrganization }) =>
          mustBeInOrganization === true && served.get(`${method} ${path}`) === false,
      )
      .map(({ method, path }) => `${method} ${path} is about an organization, and the document does not say so`),
  ];
  return {
    problems: [...new Set(problems)],
    inOrganization: new Set([...served].filter(([, isInOrganization]) => isInOrganization).map(([name]) => name)),
  };
}
