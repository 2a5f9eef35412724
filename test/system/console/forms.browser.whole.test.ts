import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, drawPicture, expectAccessible } from './console-site.ts';

const spec = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 40, description: 'What people call it.' },
    color: { type: 'string', enum: ['red', 'green', 'blue'] },
    port: { 'x-kubernetes-int-or-string': true, description: 'A number, or the name of a port.' },
    weight: { type: 'number', maximum: 10, nullable: true },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 20 } },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', minLength: 1 },
          port: { type: 'integer', minimum: 1, maximum: 65_535 },
          protocol: { type: 'string', default: 'TCP' },
        },
      },
    },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    source: {
      type: 'object',
      properties: {
        inline: { type: 'object', properties: { text: { type: 'string' } } },
        remote: { type: 'object', required: ['url'], properties: { url: { type: 'string', pattern: '^https://' } } },
      },
      oneOf: [{ required: ['inline'] }, { required: ['remote'] }],
    },
  },
};

const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec } } },
      },
    ],
  },
};
const widgetsPath = '/apis/shop.example.com/v1/namespaces/default/widgets';

describeInBrowser('a form in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
  });
  afterAll(() => site?.stop());

  const pathOf = (name: string): string => `/g/shop.example.com/widgets/default/${name}`;
  const form = (page: Page) => page.getByRole('group', { name: 'Form', exact: true });
  const field = (page: Page, ...names: string[]) => {
    const last = names.pop()!;
    const place = names.reduce((at, name) => at.getByRole('group', { name, exact: true }), form(page));
    return place.getByLabel(last, { exact: true });
  };
  async function yamlOf(page: Page, label: string): Promise<string> {
    const lines = await page.getByRole('textbox', { name: label }).locator('.cm-line').allInnerTexts();
    return lines.map((line) => line.replace(/\n$/, '')).join('\n');
  }
  async function typeYaml(page: Page, label: string, text: string): Promise<void> {
    await page.getByRole('textbox', { name: label }).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  }
  const create = (name: string, content: object) =>
    site.api('POST', widgetsPath, {
      apiVersion: 'shop.example.com/v1',
      kind: 'Widget',
      metadata: { name },
      spec: content,
    });
  const stored = async (name: string): Promise<unknown> => (await site.api('GET', `${widgetsPath}/${name}`))['spec'];

  test('creates an object, and the server names each fault at its field before anything is stored', async () => {
    await site.visit('/g/shop.example.com/widgets/new?ns=default', async (page) => {
      await form(page).waitFor();
      await field(page, 'spec', 'title').fill('x'.repeat(41));
      await field(page, 'spec', 'weight').fill('12a');
      await page.getByText('This is not a number.').waitFor();
      await page.getByText(/^The server would refuse this, for 3 reasons\.$/).waitFor();
      for (const names of [
        ['metadata', 'name'],
        ['spec', 'title'],
        ['spec', 'weight'],
      ])
        expect(await field(page, ...names).getAttribute('aria-invalid')).toBe('true');
      await expectAccessible(page);
      // A cause leads to its field, also by key.
      await page.getByRole('button', { name: 'spec.weight', exact: true }).press('Enter');
      await form(page)
        .locator(':focus')
        .and(field(page, 'spec', 'weight'))
        .waitFor();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('2.5');
      await field(page, 'metadata', 'name').fill('by-form');
      await field(page, 'spec', 'title').fill('By form');
      await field(page, 'spec', 'color').selectOption('blue');
      await field(page, 'spec', 'port').fill('80');
      // A map, a list with keys, and blocks, by keys alone.
      await form(page)
        .getByRole('group', { name: 'spec', exact: true })
        .getByRole('button', { name: 'labels', exact: true })
        .press('Enter');
      await page.getByLabel('New key in spec.labels').fill('tier');
      await page.keyboard.press('Enter');
      await field(page, 'spec', 'labels', 'tier').fill('front');
      await page.getByLabel('New key in spec.labels').fill('tier');
      await page.getByText('This key is there already.').waitFor();
      await page.getByLabel('New key in spec.labels').fill('');
      await page.getByRole('button', { name: 'ports', exact: true }).press('Enter');
      await page.getByRole('button', { name: 'Add to spec.ports' }).press('Enter');
      await page.getByRole('button', { name: 'Element 1' }).waitFor();
      await field(page, 'spec', 'ports', 'name').fill('http');
      await field(page, 'spec', 'ports', 'port').fill('70000');
      await page.getByRole('button', { name: 'name=http' }).waitFor();
      await pollUntil(async () => (await field(page, 'spec', 'ports', 'port').getAttribute('aria-invalid')) === 'true');
      await field(page, 'spec', 'ports', 'port').fill('8080');
      await page.getByRole('button', { name: 'Add to spec.ports' }).press('Enter');
      await field(page, 'spec', 'ports', 'Element 2', 'name').fill('admin');
      await page.getByRole('button', { name: 'Move spec.ports[1] up' }).press('Enter');
      await page.getByRole('button', { name: 'source', exact: true }).press('Enter');
      await page.getByLabel('remote').check();
      await field(page, 'spec', 'source', 'remote', 'url').fill('https://example.com');
      await page.getByLabel('inline').check();
      await page.getByLabel('remote').check();
      expect(await field(page, 'spec', 'source', 'remote', 'url').inputValue()).toBe('https://example.com');
      await field(page, 'spec', 'free').fill('any: [1, { x: y }]');
      await page.getByText('The server would accept this.').waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-form');
      await page.keyboard.press('Control+s');
      await page.getByRole('heading', { name: 'by-form' }).waitFor();
    });
    expect(await stored('by-form')).toEqual({
      title: 'By form',
      color: 'blue',
      port: 80,
      weight: 2.5,
      labels: { tier: 'front' },
      ports: [
        { name: 'admin', protocol: 'TCP' },
        { name: 'http', port: 8080, protocol: 'TCP' },
      ],
      free: { any: [1, { x: 'y' }] },
      source: { remote: { url: 'https://example.com' } },
    });
  });

  test('and its YAML show one draft, and each keeps what the other does not touch', async () => {
    await create('two', { title: 'Two', port: '80', weight: null, free: { any: { deep: ['x'] } } });
    await site.visit(`${pathOf('two')}?tab=both`, async (page) => {
      await form(page).waitFor();
      // A text that looks like a number, and null, are what they are.
      expect(await field(page, 'spec', 'port').inputValue()).toBe('"80"');
      expect(await field(page, 'spec', 'weight').getAttribute('placeholder')).toBe('null');
      const label = 'YAML of two';
      const before = await yamlOf(page, label);
      const typed = `${before.trimEnd()}   # note\n`.replace('title: Two', 'title:   "Three"');
      await typeYaml(page, label, typed);
      await pollUntil(async () => (await field(page, 'spec', 'title').inputValue()) === 'Three');
      // Byte for byte, until the form changes something.
      expect(await yamlOf(page, label)).toBe(typed);
      await typeYaml(page, label, 'spec: [');
      await page.getByText('The form is back when it can be read.').waitFor();
      await typeYaml(page, label, typed);
      await field(page, 'spec', 'title').waitFor();
      await field(page, 'spec', 'free').fill('any: [');
      await page.getByText('A field has a text that is not YAML yet.').waitFor();
      expect(await page.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true');
      await field(page, 'spec', 'free').fill('any: { deep: [x, z] }');
      await field(page, 'spec', 'title').fill('Four');
      const written = before.replace('title: Two', 'title: Four').replace('- x', '- x\n        - z');
      await pollUntil(async () => (await yamlOf(page, label)).trimEnd() === written.trimEnd());
      await page.getByRole('button', { name: 'Remove spec.weight' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await expectAccessible(page);
    });
    expect(await stored('two')).toEqual({ title: 'Four', port: '80', free: { any: { deep: ['x', 'z'] } } });
  });

  test('is as a hint says, which changes nothing of what is stored', async () => {
    const fields = [
      { path: 'spec.color', label: 'Colour', help: 'Of the front.', order: 1 },
      { path: 'spec.title', widget: 'multiline' },
      { path: 'spec.weight', more: true },
      { path: 'spec.ports[*].port', label: 'Number' },
    ];
    await site.api('POST', '/apis/console.svc.run/v1alpha1/formhints', {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'FormHint',
      metadata: { name: 'widgets' },
      spec: { model: 'widgets.shop.example.com', fields },
    });
    const content = { title: 'Hinted', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] };
    await create('hinted', content);
    await site.visit(`${pathOf('hinted')}?tab=form`, async (page) => {
      await page.getByText('Of the front.').waitFor();
      const labels = await form(page)
        .getByRole('group', { name: 'spec', exact: true })
        .locator('label')
        .allInnerTexts();
      expect(labels.slice(0, 2)).toEqual(['Colour', 'title']);
      expect(labels).not.toContain('weight');
      await page.getByRole('button', { name: 'Show 1 field more of spec', exact: true }).click();
      await field(page, 'spec', 'weight').waitFor();
      await form(page)
        .locator('textarea')
        .and(field(page, 'spec', 'title'))
        .waitFor();
      expect(await field(page, 'spec', 'ports', 'Number').inputValue()).toBe('80');
      await expectAccessible(page);
    });
    expect(await stored('hinted')).toEqual(content);
    await site.api('DELETE', '/apis/console.svc.run/v1alpha1/formhints/widgets');
  });

  test('keeps a change while somebody else saves, and a conflict is decided by its value', async () => {
    await create('shared', { title: 'Base', color: 'red', ports: [{ name: 'http', port: 1 }] });
    await site.visit(`${pathOf('shared')}?tab=form`, async (page) => {
      await form(page).waitFor();
      await field(page, 'spec', 'title').fill('Mine');
      await field(page, 'spec', 'ports', 'port').fill('2');
      await site.api('PATCH', `${widgetsPath}/shared`, {
        spec: { title: 'Theirs', color: 'blue', ports: [{ name: 'http', port: 1 }, { name: 'admin' }] },
      });
      await page.getByText('Somebody else saved this object while you were editing.').waitFor();
      await page.getByRole('button', { name: 'Merge their changes into mine' }).click();
      await page.getByRole('button', { name: 'Mine: spec.title' }).click();
      await page.getByRole('button', { name: 'name=admin' }).waitFor();
      expect(await field(page, 'spec', 'color').locator('option:checked').innerText()).toBe('blue');
      expect(await field(page, 'spec', 'title').inputValue()).toBe('Mine');
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.locator('.difference').getByText('Mine').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
    });
    expect(await stored('shared')).toEqual({
      title: 'Mine',
      color: 'blue',
      ports: [
        { name: 'http', port: 2, protocol: 'TCP' },
        { name: 'admin', protocol: 'TCP' },
      ],
    });
  });
});
