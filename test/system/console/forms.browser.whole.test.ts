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

/** What is chosen: blocks, kinds, and the names of keys. */
const gadgetSpec = {
  type: 'object',
  properties: {
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    match: {
      type: 'object',
      properties: { name: { type: 'string', minLength: 1 }, prefix: { type: 'string', minLength: 1 } },
      anyOf: [{ required: ['name'] }, { required: ['prefix'] }],
    },
    limit: {
      type: 'object',
      properties: { soft: { type: 'integer', minimum: 1 }, hard: { type: 'integer' } },
      oneOf: [
        { not: { anyOf: [{ required: ['soft'] }, { required: ['hard'] }] } },
        { required: ['soft'] },
        { required: ['hard'] },
      ],
    },
    template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
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
function definitionOf(plural: string, kind: string, ofSpec: object): object {
  return {
    ...widgetDefinition,
    metadata: { name: `${plural}.shop.example.com` },
    spec: {
      ...widgetDefinition.spec,
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: ofSpec } } },
        },
      ],
    },
  };
}

/** 600 fields in 30 sections. */
const longSpec = {
  type: 'object',
  properties: objectOf(30, 'section', () => ({
    type: 'object',
    properties: objectOf(20, 'field', () => ({ type: 'string', maxLength: 20 })),
  })),
};

function objectOf<T>(count: number, name: string, value: (at: number) => T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, value(at)]));
}

const shopPlugin = {
  'plugin.yaml': JSON.stringify({
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'shop' },
    spec: { version: '1.0.0' },
  }),
  'index.ts': `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
  'presets/hint.yaml': JSON.stringify({
    apiVersion: 'console.svc.run/v1alpha1',
    kind: 'FormHint',
    metadata: { name: 'shop-widgets' },
    spec: {
      model: 'widgets.shop.example.com',
      fields: [
        { path: 'spec.title', label: 'Headline', widget: 'multiline' },
        { path: 'spec.color', label: 'Paint', order: 1 },
      ],
    },
  }),
  'presets/view.yaml': JSON.stringify({
    apiVersion: 'console.svc.run/v1alpha1',
    kind: 'SavedView',
    metadata: { name: 'shop-newest' },
    spec: { title: 'Newest widgets', model: 'widgets.shop.example.com', sort: ['metadata.creationTimestamp,desc'] },
  }),
};

const widgetsPath = '/apis/shop.example.com/v1/namespaces/default/widgets';

describeInBrowser('a form in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.addPlugin('shop', shopPlugin);
    for (const definition of [
      widgetDefinition,
      definitionOf('gadgets', 'Gadget', gadgetSpec),
      definitionOf('longs', 'Long', longSpec),
    ])
      await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
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
    const editor = page.getByRole('textbox', { name: label });
    await editor.waitFor();
    const lines = await editor.locator('.cm-line').allInnerTexts();
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
      await page.getByText('A field has a text that cannot be taken yet.').waitFor();
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
      { path: 'spec.labels', widget: 'yaml' },
    ];
    await site.api('POST', '/apis/console.svc.run/v1alpha1/formhints', {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'FormHint',
      metadata: { name: 'widgets' },
      spec: { model: 'widgets.shop.example.com', fields },
    });
    const content = { title: 'Hinted', labels: { a: 'b' }, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] };
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
      // A map as one text.
      expect(await field(page, 'spec', 'labels').inputValue()).toBe('a: b\n');
      await expectAccessible(page);
    });
    expect(await stored('hinted')).toEqual(content);
    await site.api('DELETE', '/apis/console.svc.run/v1alpha1/formhints/widgets');
  });

  test('has choices of blocks, objects of any kind, and keys of maps that get other names', async () => {
    const path = '/apis/shop.example.com/v1/namespaces/default/gadgets';
    await site.api('POST', path, {
      apiVersion: 'shop.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'parts' },
      spec: {
        labels: { tier: 'front', zone: 'a', last: 'z' },
        match: { name: 'x' },
        limit: { soft: 3 },
        template: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'other' }, spec: { replicas: 1 } },
      },
    });
    await site.visit('/g/shop.example.com/gadgets/default/parts?tab=form', async (page) => {
      await form(page).waitFor();
      // At least one of these blocks.
      await page.getByRole('group', { name: 'At least one of these' }).getByLabel('prefix').check();
      await page.getByRole('group', { name: 'At least one of these' }).getByLabel('name').uncheck();
      await form(page).getByRole('textbox', { name: 'prefix' }).fill('y');
      // One of these, or none.
      const choice = page.getByRole('group', { name: 'One of these, or none' });
      await choice.getByLabel('hard').check();
      await choice.getByLabel('none of these').check();
      await choice.getByLabel('soft').check();
      expect(await form(page).getByRole('textbox', { name: 'soft' }).inputValue()).toBe('3');
      await choice.getByLabel('none of these').check();
      // A key keeps its place, and is never put over another one.
      await page.getByRole('button', { name: 'Rename spec.labels.tier' }).press('Enter');
      await page.keyboard.type('zone');
      await page.getByText('This key is there already.').waitFor();
      await page.getByText('A field has a text that cannot be taken yet.').waitFor();
      await expectAccessible(page);
      await page.keyboard.type('s');
      await page.keyboard.press('Enter');
      await form(page)
        .locator(':focus')
        .and(page.getByRole('button', { name: 'Rename spec.labels.zones' }))
        .waitFor();
      await page.getByRole('button', { name: 'Rename spec.labels.last' }).press('Enter');
      await page.keyboard.type('zone');
      await page.keyboard.press('Escape');
      await field(page, 'spec', 'labels', 'last').waitFor();
      // An object of a kind that is not served is YAML, one of another kind has its form.
      const template = form(page).getByRole('group', { name: 'template', exact: true });
      expect(await template.getByLabel('As YAML').inputValue()).toContain('replicas: 1');
      const kind = template.getByLabel('Kind');
      expect(await kind.locator('option:checked').innerText()).toBe('Deployment · apps/v1 (not served here)');
      await kind.focus();
      await kind.selectOption({ label: 'Widget · shop.example.com/v1' });
      await template
        .getByRole('group', { name: 'spec', exact: true })
        .getByLabel('title', { exact: true })
        .fill('Inner');
      expect(await template.getByLabel('name', { exact: true }).inputValue()).toBe('other');
      await template
        .getByRole('group', { name: 'spec', exact: true })
        .getByRole('button', { name: 'labels', exact: true })
        .click();
      await page.getByLabel('New key in spec.template.spec.labels').fill('deep');
      await page.keyboard.press('Enter');
      await template.getByLabel('deep', { exact: true }).fill('yes');
      await page.getByText('The server would accept this.').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
    });
    const { labels, ...rest } = (await site.api('GET', `${path}/parts`))['spec'] as { labels: Record<string, string> };
    expect(Object.entries(labels)).toEqual([
      ['zones', 'front'],
      ['zone', 'a'],
      ['last', 'z'],
    ]);
    expect(rest).toEqual({
      match: { prefix: 'y' },
      limit: {},
      template: {
        apiVersion: 'shop.example.com/v1',
        kind: 'Widget',
        metadata: { name: 'other' },
        spec: { title: 'Inner', labels: { deep: 'yes' } },
      },
    });
  });

  test('follows the hints of a plugin that starts and stops, and keeps what was typed and the focus', async () => {
    await create('live', { title: 'Live', color: 'red' });
    const switchPlugin = (enabled: boolean) =>
      site.api('PATCH', '/apis/plugin.svc.run/v1alpha1/plugins/shop', { spec: { enabled } });
    await site.visit(`${pathOf('live')}?tab=form`, async (page, context) => {
      const title = form(page).getByRole('group', { name: 'spec', exact: true }).locator('[data-field="spec.title"]');
      const input = title.locator('input');
      await input.fill('Typed');
      await page.keyboard.press('ArrowLeft');
      await switchPlugin(true);
      await title.getByText('Headline').waitFor();
      // The first field is another one now, and the field in which somebody types is still a line.
      await form(page).locator('[data-field="spec.color"] + [data-field="spec.title"]').waitFor();
      expect(
        await page.evaluate(`(({ activeElement: { localName, selectionStart, id } }) =>
          [localName, selectionStart, id !== '' && id === document.querySelector('[data-field="spec.title"] label').htmlFor]
        )(document)`),
      ).toEqual(['input', 4, true]);
      await page.keyboard.type('o');
      expect(await input.inputValue()).toBe('Typeod');
      await form(page).getByLabel('Paint').focus();
      await title.locator('textarea').waitFor();
      expect(await title.locator('textarea').inputValue()).toBe('Typeod');
      await expectAccessible(page);
      const list = await context.newPage();
      await list.goto(`${site.url}/console/g/shop.example.com/widgets`);
      await list.getByRole('button', { name: 'Views' }).click();
      await list.getByRole('link', { name: 'Newest widgets' }).waitFor();
      await list.close();
      await switchPlugin(false);
      await form(page).getByLabel('color', { exact: true }).waitFor();
      await input.waitFor();
      expect(await input.inputValue()).toBe('Typeod');
      await page.getByText('The server would accept this.').waitFor();
    });
  });

  test('of 600 fields is there as a whole, and a fault in its last field is reached from the list of faults', async () => {
    await site.api('POST', '/apis/shop.example.com/v1/namespaces/default/longs', {
      apiVersion: 'shop.example.com/v1',
      kind: 'Long',
      metadata: { name: 'long' },
      spec: objectOf(30, 'section', () => objectOf(20, 'field', (at) => `text ${at}`)),
    });
    await site.visit('/g/shop.example.com/longs/default/long?tab=form', async (page) => {
      await pollUntil(async () => (await form(page).getByRole('textbox').count()) === 602);
      const last = field(page, 'spec', 'section29', 'field19');
      await last.fill('x'.repeat(21));
      await page.getByText('The server would refuse this, for 1 reason.').waitFor();
      expect(await last.getAttribute('aria-invalid')).toBe('true');
      await field(page, 'spec', 'section0', 'field0').focus();
      await page.getByRole('button', { name: 'spec.section29.field19', exact: true }).press('Enter');
      await form(page).locator(':focus').and(last).waitFor();
      await last.fill('short');
      await page.getByText('The server would accept this.').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
    });
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
