import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOptions } from '../../../../cmd/svc/options/check-options.ts';
import { loadOptions } from '../../../../cmd/svc/options/load-options.ts';
import type { Options } from '../../../../cmd/svc/options/option-table.ts';
import { pluginHostUrl } from '../../../../cmd/svc/composition/plugin-endpoints.ts';
import { newPersonalToken } from '#pkg/identity/index';
import { ofKind, podsOf, type Container, type Pods, type Release } from './release.ts';

const verbs = new Set(['apiserver', 'access-server', 'controller-manager', 'migrate']);

/**
 * Each container of the program starts it with valid options: the file and variables are parsed as the program does,
 * and their combination is checked. Kubernetes' grace period must exceed the drain timeout.
 */
export function optionsExist(release: Release): string[] {
  return podsOf(release).flatMap((pods) =>
    ownContainers(pods).flatMap((container) => {
      try {
        return problemsOf(release, pods, container).map((problem) => `${pods.owner}: ${problem}`);
      } catch (error) {
        return [`${pods.owner}: ${(error as Error).message}`];
      }
    }),
  );
}

/** The container of the program: the values may add others. */
function ownContainers({ labels, spec }: Pods): Container[] {
  return spec.containers.filter(({ name }) => name === labels['app.kubernetes.io/component']);
}

function problemsOf(release: Release, pods: Pods, container: Container): string[] {
  const [verb, ...rest] = container.args ?? [];
  if (container.command !== undefined) return verb === undefined ? [] : ['it has both a command and arguments'];
  if (verb === undefined || !verbs.has(verb)) return [`there is no command ${verb}`];
  if (rest.at(-2) !== '--config' || rest.at(-1) !== '/etc/svc/config') return ['it does not read its options'];
  const options = optionsOf(release, pods, container);
  if (verb === 'apiserver') checkOptions(options);
  if (verb === 'controller-manager') pluginHostUrl(options, 8092);
  const graceMs = (pods.spec.terminationGracePeriodSeconds ?? 30) * 1000;
  if (verb !== 'migrate' && graceMs <= options['svc.server.drain-timeout'])
    return ['Kubernetes kills it before its drain is over'];
  return [];
}

function optionsOf(release: Release, { spec }: Pods, { env = [] }: Container): Options {
  const name = spec.volumes?.find((volume) => volume.name === 'config')?.configMap?.name;
  const files = ofKind(release, 'ConfigMap').find(({ metadata }) => metadata.name === name)?.['data'] as Record<
    string,
    string
  >;
  const configFolder = mkdtempSync(join(tmpdir(), 'svc-chart-options-'));
  try {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(configFolder, file), text);
    const environment = Object.fromEntries(
      env
        .filter(({ name: variable }) => variable.startsWith('SVC_'))
        .map(({ name: variable, value = '' }) => {
          const secret = secrets[variable];
          if (secret === undefined) return [variable, value.replaceAll('$(POD_IP)', '10.0.0.1')];
          const file = join(configFolder, variable);
          writeFileSync(file, `${secret()}\n`);
          return [variable, file];
        }),
    );
    return loadOptions({ configFolder, environment, args: [] }).options;
  } finally {
    rmSync(configFolder, { recursive: true });
  }
}

/** Contents of the files that the options read at a start, by their variables. */
const secrets: Readonly<Record<string, () => string>> = {
  SVC_DATABASE_URL_FILE: () => 'postgres://svc:password@postgres:5432/svc',
  SVC_DATABASE_READ_URL_FILE: () => 'postgres://svc:password@postgres-ro:5432/svc',
  SVC_SECURITY_INITIAL_ADMIN_TOKEN_FILE: newPersonalToken,
  SVC_SECURITY_CONTROLLER_MANAGER_TOKEN_FILE: newPersonalToken,
  SVC_SECURITY_ACCESS_SERVER_TOKEN_FILE: newPersonalToken,
  SVC_SECURITY_INITIAL_ADMIN_PASSWORD_FILE: () => 'a password',
};
