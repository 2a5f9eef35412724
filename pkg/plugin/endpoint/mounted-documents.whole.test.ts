import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { chromium } from 'playwright-core';
import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import type { PluginEndpoint } from '#pkg/apis/index';
import { endpoint, startTestEndpoints, until, type TestEndpointEnv } from './start-test-endpoints.ts';

const executablePath = '/usr/bin/chromium';
const hostile = '</script><script>window.broken = 1</script>';
const endpoints: PluginEndpoint[] = [
  endpoint({
    summary: 'All posts',
    query: { type: 'object', properties: { tag: { type: 'string', description: hostile } } },
    response: { type: 'array', items: { type: 'string' } },
  }),
  endpoint({
    audience: 'console',
    method: 'PUT',
    path: '/posts/{name}/publication',
    operationId: 'publish',
    summary: 'Publish a post',
    params: { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } },
    body: { type: 'object', properties: { at: { type: 'string' } } },
  }),
  endpoint({ audience: 'console', method: 'DELETE', path: '/posts/{name}/publication', operationId: 'retract' }),
  endpoint({ audience: 'uc', path: '/me', operationId: 'me' }),
];
const paths = {
  public: '/apis/api.blog.example.com/v1/posts',
  console: '/apis/console.api.blog.example.com/v1/posts/{name}/publication',
  uc: '/apis/uc.api.blog.example.com/v1/me',
};

let test1: TestEndpointEnv;
beforeAll(async () => {
  test1 = await startTestEndpoints();
});
afterAll(() => test1.stop());

async function document(name: string): Promise<JsonObject> {
  return (await test1.asked(`/docs/openapi/${name}.json`, { asAdmin: name !== 'public' })).body as JsonObject;
}

async function pathsOf(name: string): Promise<JsonObject> {
  return (await document(name))['paths'] as JsonObject;
}

async function mount(phase: 'Started' | 'Disabled'): Promise<void> {
  await test1.set('blog', { phase, endpoints: phase === 'Disabled' ? [] : endpoints });
  await until(async () => Object.hasOwn(await pathsOf('public'), paths.public) === (phase === 'Started'));
}

test('each document shows the endpoints of its audience while they are mounted, and is valid', async () => {
  await mount('Started');
  for (const name of ['public', 'console', 'uc'] as const) {
    const shown = Object.keys(await pathsOf(name)).filter((path) => path.startsWith('/apis/'));
    expect(shown).toEqual([paths[name]]);
  }
  expect(Object.keys(await pathsOf('aggregated'))).toEqual(expect.arrayContaining(Object.values(paths)));
  expect(Object.keys(await pathsOf('extension'))).not.toContain(paths.console);
  for (const name of ['public', 'console', 'uc', 'aggregated']) expect(faults(await document(name))).toEqual([]);
  await mount('Disabled');
  for (const name of ['public', 'console', 'uc', 'aggregated'])
    expect(Object.keys(await pathsOf(name)).filter((path) => path.includes('blog'))).toEqual([]);
});

/** Violations of OpenAPI that endpoints could cause. */
function faults(whole: JsonObject): string[] {
  const found: string[] = [];
  const ids = new Set<JsonValue | undefined>();
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: true });
  for (const [path, item] of Object.entries(whole['paths'] as Record<string, JsonObject>)) {
    for (const [method, operation] of Object.entries(item)) {
      if (!isJsonObject(operation) || typeof operation['operationId'] !== 'string') continue;
      if (ids.has(operation['operationId'])) found.push(`${path}: ${operation['operationId']} is there twice`);
      ids.add(operation['operationId']);
      if (!path.includes('blog.example.com')) continue;
      const parameters = (operation['parameters'] ?? []) as JsonObject[];
      const named = parameters.filter((parameter) => parameter['in'] === 'path').map((parameter) => parameter['name']);
      if (JSON.stringify(named) !== JSON.stringify([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])))
        found.push(`${method} ${path}: parameters`);
      for (const schema of [
        ...parameters,
        ...contents(operation['requestBody']),
        ...Object.values(operation['responses'] as JsonObject).flatMap(contents),
      ].map((holder) => holder['schema'])) {
        if (!isJsonObject(schema) || ajv.validateSchema(schema) !== true) found.push(`${method} ${path}: a schema`);
      }
      for (const answer of Object.values(operation['responses'] as Record<string, JsonObject>)) {
        const { $ref } = answer;
        if (typeof $ref === 'string' && resolved(whole, $ref) === undefined) found.push(`${$ref} leads nowhere`);
      }
    }
  }
  return found;
}

function contents(holder: JsonValue | undefined): JsonObject[] {
  const content = isJsonObject(holder) ? holder['content'] : undefined;
  return isJsonObject(content) ? (Object.values(content) as JsonObject[]) : [];
}

function resolved(whole: JsonObject, reference: string): JsonValue | undefined {
  let place: JsonValue | undefined = whole;
  for (const step of reference.slice(2).split('/')) place = isJsonObject(place) ? place[step] : undefined;
  return place;
}

(existsSync(executablePath) || process.env['CI'] === 'true' ? test : test.skip)(
  'the page shows them, and their texts as texts',
  async () => {
    await mount('Started');
    const browser = await chromium.launch({
      executablePath,
      args: [
        '--no-sandbox',
        '--headless',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-quic',
      ],
    });
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(20_000);
      await page.goto(`${test1.env.url}/docs`);
      const tag = page.locator('.opblock-tag-section', { hasText: 'blog.example.com/v1' });
      await tag.locator('.opblock-tag').click();
      const list = tag.locator('.opblock', { hasText: 'All posts' });
      await list.locator('.opblock-summary-control').click();
      await list.getByText('tag', { exact: true }).first().waitFor();
      expect(await page.evaluate(() => (globalThis as { broken?: number }).broken)).toBeUndefined();
      // The page keeps a tag expanded that both documents have.
      await tag.locator('.opblock-tag').click();
      await list.waitFor({ state: 'hidden' });
      await page.getByLabel('Personal token').fill(test1.env.token);
      await page.getByRole('button', { name: 'Use token' }).click();
      await page.getByLabel('Document').selectOption('console');
      await page.locator('.opblock-tag-section', { hasText: 'blog.example.com/v1' }).locator('.opblock-tag').click();
      await page.locator('.opblock', { hasText: 'Publish a post' }).waitFor();
    } finally {
      await browser.close();
    }
  },
);
