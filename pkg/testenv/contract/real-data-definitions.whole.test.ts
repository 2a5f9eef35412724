import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, yamlBody } from './api-call.ts';
import { conditionsOf, definitionsPath, onEveryServer, type Definition } from './models-definition.ts';
import { realDataPresent, realDefinitions } from './real-data-files.ts';

const definitions = realDataPresent ? ['gateway-api', 'cert-manager'].flatMap(realDefinitions) : [];

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

const versionsOf = ({
  spec,
}: Definition): {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
}[] => spec.versions as never;
const pathOf = ({ spec }: Definition, versionName: string): string =>
  `/apis/${spec.group}/${versionName}/${String(spec.names['plural'])}`;

(realDataPresent ? describe : describe.skip)('definitions of other projects, unchanged', () => {
  test.each(definitions.map(({ file, ...rest }) => [file, rest] as const))('%s', async (_file, { text, content }) => {
    const posted = await call(env, `${definitionsPath}?fieldValidation=Strict`, {
      method: 'POST',
      headers: yamlBody,
      body: text,
    });
    expect([posted.status, posted.text.slice(0, posted.status === 201 ? 0 : 2000)]).toEqual([201, '']);
    const { name } = content.metadata;
    await retryUntilPasses(async () => {
      const { NamesAccepted, Established } = await conditionsOf(env, name);
      expect([NamesAccepted?.status, Established?.status]).toEqual(['True', 'True']);
    });
    const { body } = await call(env, `${definitionsPath}/${name}`);
    expect((body.status as { storedVersions: string[] }).storedVersions).toEqual(
      versionsOf(content)
        .filter(({ storage }) => storage)
        .map((version) => version.name),
    );
    expect(body.spec).toMatchObject(content.spec);
    for (const { name: versionName, served } of versionsOf(content))
      await onEveryServer(env, pathOf(content, versionName), served ? 200 : 404);
  });

  test('rules in CEL, which every file of the gateway has, cause a warning', async () => {
    const { text, content } = definitions.find(({ text: other }) => other.includes('x-kubernetes-validations'))!;
    const answer = await call(env, `${definitionsPath}/${content.metadata.name}?dryRun=All`, {
      method: 'PUT',
      headers: yamlBody,
      body: text,
    });
    expect([answer.status, answer.warnings.join()]).toEqual([
      200,
      expect.stringMatching(/x-kubernetes-validations|CEL/),
    ]);
  });

  test('deprecated versions give the warning of the file', async () => {
    const deprecated = definitions.flatMap(({ content }) =>
      versionsOf(content).flatMap((version) =>
        version.deprecated === true && version.served ? [{ content, version }] : [],
      ),
    );
    for (const { content, version } of deprecated) {
      const { warnings } = await call(env, pathOf(content, version.name));
      expect(warnings).toEqual([version.deprecationWarning]);
    }
  });

  test('all definitions can be listed, as JSON and as YAML', async () => {
    const json = await call(env, definitionsPath, { server: 1 });
    expect(json.body.items.map(({ metadata }) => metadata.name)).toEqual(
      definitions.map(({ content }) => content.metadata.name).toSorted(),
    );
    const asYaml = await call(env, definitionsPath, { headers: { accept: 'application/yaml' } });
    expect((parse(asYaml.text) as { items: unknown[] }).items).toHaveLength(definitions.length);
  });

  test('a second create is 409, and an update without a change changes nothing', async () => {
    for (const { text, content } of definitions) {
      expect((await call(env, definitionsPath, { method: 'POST', headers: yamlBody, body: text })).status).toBe(409);
      const before = await call(env, `${definitionsPath}/${content.metadata.name}`);
      const put = await call(env, `${definitionsPath}/${content.metadata.name}`, {
        method: 'PUT',
        headers: yamlBody,
        body: text,
      });
      expect([put.status, put.body.metadata.resourceVersion]).toEqual([200, before.body.metadata.resourceVersion]);
    }
  });

  test('all definitions can be deleted together, on both servers', async () => {
    const answers = await Promise.all(
      definitions.map(({ content }) => call(env, `${definitionsPath}/${content.metadata.name}`, { method: 'DELETE' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await retryUntilPasses(async () => expect((await call(env, definitionsPath)).body.items).toEqual([]));
    for (const { content } of definitions) await onEveryServer(env, pathOf(content, versionsOf(content)[0]!.name), 404);
  });
});
