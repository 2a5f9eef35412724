import { describe, expect, test } from '@jest/globals';
import { newInvalid, type StatusCause } from '#pkg/apimachinery/index';
import fc from 'fast-check';
import { defaultDefinition } from './default-definition.ts';
import type { CustomResourceDefinition, DeclaredIndex, DefinitionVersion } from './definition.ts';
import { modelFromDefinition } from './model-from-definition.ts';
import { validateDefinition } from './validate-definition.ts';

type Edit = (definition: CustomResourceDefinition, version: DefinitionVersion) => void;
const validateStructuralSchema = (): StatusCause[] => [];

function define(edit: Edit = () => {}): CustomResourceDefinition {
  const version: DefinitionVersion = {
    name: 'v1',
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          spec: {
            type: 'object',
            properties: {
              slug: { type: 'string' },
              rank: { type: 'integer' },
              ratio: { type: 'number' },
              live: { type: 'boolean' },
              constructor: { type: 'string' as const },
            },
          },
        },
      },
    },
  };
  const definition: CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'posts.blog.example.com' },
    spec: {
      group: 'blog.example.com',
      names: { plural: 'posts', kind: 'Post' },
      scope: 'Cluster',
      versions: [version],
    },
  };
  edit(definition, version);
  return defaultDefinition(definition);
}

function texts(causes: StatusCause[]): string[] {
  return causes.map(({ field, message }) => `${field}: ${message}`);
}

function refusals(edit: Edit, old?: CustomResourceDefinition): string[] {
  return texts(validateDefinition(define(edit), { validateStructuralSchema, ...(old === undefined ? {} : { old }) }));
}

/** The same, for an edit with a wrong type. */
function untyped(edit: (definition: { [field: string]: unknown; spec: Record<string, unknown> }) => void): Edit {
  return (definition) => edit(definition as unknown as { [field: string]: unknown; spec: Record<string, unknown> });
}

const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character";

const refused: { reason: string; edit: Edit; texts: string[] }[] = [
  {
    reason: 'the name is plural and group',
    edit: (d) => (d.metadata.name = 'x'),
    texts: ['metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group'],
  },
  { reason: 'a group is needed', edit: (d) => regroup(d, ''), texts: ['spec.group: Required value'] },
  {
    reason: 'a group is a domain',
    edit: (d) => regroup(d, 'apps'),
    texts: ['spec.group: Invalid value: "apps": should be a domain with at least one dot'],
  },
  {
    reason: 'a group is lower case',
    edit: (d) => regroup(d, 'Blog.example.com'),
    texts: ['spec.group: Invalid value: "Blog.example.com": a lowercase RFC 1123 subdomain'],
  },
  {
    reason: 'a group has the maximum length of a name',
    edit: (d) => regroup(d, `a.${'b'.repeat(252)}`),
    texts: ['spec.group: Invalid value: '],
  },
  {
    reason: 'the group of the platform',
    edit: (d) => regroup(d, 'svc.run'),
    texts: ['spec.group: Forbidden: the groups svc.run and *.svc.run are reserved for the platform'],
  },
  {
    reason: 'a group below that of the platform',
    edit: (d) => regroup(d, 'plugin.svc.run'),
    texts: ['spec.group: Forbidden: the groups svc.run'],
  },
  {
    reason: 'a group that the server serves, even with an approval',
    edit: (d) => approve(d, 'rbac.authorization.k8s.io', 'unapproved'),
    texts: ['spec.group: Forbidden: the group rbac.authorization.k8s.io is served by the platform itself'],
  },
  {
    reason: 'a community group needs an approval',
    edit: unapproved,
    texts: [
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
  {
    reason: 'an approval is a URL',
    edit: (d) => approve(d, 'blog.kubernetes.io', 'yes'),
    texts: [
      'metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
  {
    reason: 'a plural is lower case',
    edit: (d) => replural(d, 'Posts'),
    texts: [`spec.names.plural: Invalid value: "Posts": ${label}`],
  },
  {
    reason: 'a plural is a label',
    edit: (d) => replural(d, 'p'.repeat(64)),
    texts: ['spec.names.plural: Invalid value: '],
  },
  {
    reason: 'a plural does not conflict with the paths of namespaces',
    edit: (d) => replural(d, 'namespaces'),
    texts: ['spec.names.plural: Invalid value: "namespaces": the paths of a cluster-scoped'],
  },
  { reason: 'a plural is needed', edit: (d) => replural(d, ''), texts: ['spec.names.plural: Required value'] },
  {
    reason: 'a singular is lower case',
    edit: (d) => (d.spec.names.singular = 'Post'),
    texts: [`spec.names.singular: Invalid value: "Post": ${label}`],
  },
  {
    reason: 'short names are labels',
    edit: (d) => (d.spec.names.shortNames = ['p', '1p']),
    texts: [`spec.names.shortNames[1]: Invalid value: "1p": ${label}`],
  },
  {
    reason: 'categories are labels',
    edit: (d) => (d.spec.names.categories = ['a_b']),
    texts: ['spec.names.categories[0]: Invalid value: "a_b"'],
  },
  {
    reason: 'a kind is a label, except for capitals',
    edit: (d) => (d.spec.names.kind = 'Blog Post'),
    texts: [
      'spec.names.singular: ',
      'spec.names.kind: Invalid value: "Blog Post": may have mixed case, but should otherwise match: a DNS-1035 label',
      'spec.names.listKind: ',
    ],
  },
  {
    reason: 'the Kelvin sign is not a k',
    edit: (d) => (d.spec.names.listKind = 'Boo\u212A'),
    texts: ['spec.names.listKind: Invalid value: "Boo\u212A": may have mixed case'],
  },
  {
    reason: 'a kind is needed',
    edit: (d) => (d.spec.names.kind = ''),
    texts: [
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
    ],
  },
  {
    reason: 'kind and list kind differ',
    edit: (d) => (d.spec.names.listKind = 'Post'),
    texts: ['spec.names.listKind: Invalid value: "Post": kind and listKind may not be the same'],
  },
  {
    reason: 'two scopes',
    edit: untyped((d) => (d.spec['scope'] = 'Global')),
    texts: ['spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"'],
  },
  {
    reason: 'a version is needed',
    edit: (d) => (d.spec.versions = []),
    texts: ['spec.versions: Required value: must have at least one version'],
  },
  {
    reason: 'at most 20 versions',
    edit: (d, v) => (d.spec.versions = Array.from({ length: 21 }, () => v)),
    texts: ['spec.versions: Too many: 21: must have at most 20 items'],
  },
  {
    reason: 'a version name is a label',
    edit: (_, v) => (v.name = 'V1'),
    texts: [`spec.versions[0].name: Invalid value: "V1": ${label}`],
  },
  {
    reason: 'version names differ',
    edit: (d, v) => d.spec.versions.push({ ...v, storage: false }),
    texts: ['spec.versions: Invalid value: ["v1","v1"]: must contain unique version names'],
  },
  {
    reason: 'a storage version',
    edit: (_, v) => (v.storage = false),
    texts: ['spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version'],
  },
  {
    reason: 'one storage version',
    edit: (d, v) => d.spec.versions.push({ ...v, name: 'v2' }),
    texts: ['spec.versions: Invalid value: ["v1","v2"]: must have exactly one version marked as storage version'],
  },
  {
    reason: 'a schema',
    edit: (_, v) => delete v.schema,
    texts: ['spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required'],
  },
  {
    reason: 'only two strategies',
    edit: (d) => (d.spec.conversion = { strategy: 'Magic' }),
    texts: ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
  },
  {
    reason: 'no webhook without its strategy',
    edit: (d) => (d.spec.conversion = { strategy: 'None', webhook: { conversionReviewVersions: ['v1'] } }),
    texts: ['spec.conversion.webhook: Forbidden: should not be set when strategy is not set to Webhook'],
  },
  {
    reason: 'pruning',
    edit: (d) => (d.spec.preserveUnknownFields = true),
    texts: [
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  },
  {
    reason: 'stored versions stay readable',
    edit: (d) => (d.status = { storedVersions: ['v1alpha1', 'v1'] }),
    texts: [
      'status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions; v1alpha1 was previously a storage version',
    ],
  },
  {
    reason: 'a deprecation warning needs a deprecated version',
    edit: (_, v) => (v.deprecationWarning = 'old'),
    texts: ['spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions'],
  },
  {
    reason: 'a deprecation warning is a valid header',
    edit: (_, v) => Object.assign(v, { deprecated: true, deprecationWarning: 'a\r\nb' }),
    texts: [
      'spec.versions[0].deprecationWarning: Invalid value: "a\\r\\nb": must only contain printable UTF-8 characters; non-printable character found at index 1',
    ],
  },
  {
    reason: 'a deprecation warning has no lone surrogates',
    edit: (_, v) => Object.assign(v, { deprecated: true, deprecationWarning: '\ud800' }),
    texts: ['spec.versions[0].deprecationWarning: Invalid value: '],
  },
  {
    reason: 'a deprecation warning has a maximum length',
    edit: (_, v) => Object.assign(v, { deprecated: true, deprecationWarning: 'x'.repeat(257) }),
    texts: ['spec.versions[0].deprecationWarning: Invalid value: '],
  },
  {
    reason: 'replicas are in the spec',
    edit: scale({ specReplicasPath: '.status.n' }),
    texts: [
      'spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
    ],
  },
  {
    reason: 'scale paths have no lists',
    edit: scale({ statusReplicasPath: '.status.n[0]' }),
    texts: [
      'spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: ".status.n[0]": must be a json path in the dot notation',
    ],
  },
  ...['__proto__', 'constructor', 'prototype'].map((key) => ({
    reason: `scale paths do not reach prototypes: ${key}`,
    edit: scale({ specReplicasPath: `.spec.${key}.x` }),
    texts: [
      `spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".spec.${key}.x": must not name __proto__, constructor or prototype`,
    ],
  })),
  {
    reason: 'scale paths start with a dot',
    edit: scale({ statusReplicasPath: 'status.n' }),
    texts: [
      'spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: "status.n": must be a simple json path starting with .',
    ],
  },
  {
    reason: 'the selector is spec or status',
    edit: scale({ labelSelectorPath: '.metadata.labels' }),
    texts: [
      'spec.versions[0].subresources.scale.labelSelectorPath: Invalid value: ".metadata.labels": should be a json path under either .spec or .status',
    ],
  },
  {
    reason: 'column types',
    edit: (_, v) => column(v, { type: 'text' }),
    texts: [
      'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
    ],
  },
  {
    reason: 'column types are given',
    edit: (_, v) => column(v, { type: '' }),
    texts: [
      'spec.versions[0].additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
    ],
  },
  {
    reason: 'column names are given',
    edit: (_, v) => column(v, { name: '' }),
    texts: ['spec.versions[0].additionalPrinterColumns[0].name: Required value'],
  },
  {
    reason: 'column formats',
    edit: (_, v) => column(v, { format: 'ip' }),
    texts: ['spec.versions[0].additionalPrinterColumns[0].format: Invalid value: "ip": must be one of byte,date,'],
  },
  {
    reason: 'column paths start with a dot',
    edit: (_, v) => column(v, { jsonPath: 'spec' }),
    texts: [
      'spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: "spec": must be a simple json path starting with .',
    ],
  },
  {
    reason: 'brackets are closed',
    edit: (_, v) => column(v, { jsonPath: '.a[0' }),
    texts: [
      'spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: ".a[0": must be a json path of names and brackets',
    ],
  },
  {
    reason: 'at most 8 selectable fields',
    edit: select(...Array.from({ length: 9 }, () => '.spec.slug')),
    texts: ['spec.versions[0].selectableFields: Too many: 9: must have at most 8 items'],
  },
  {
    reason: 'selectable fields are unique',
    edit: select('.spec.slug', '.spec.slug'),
    texts: ['spec.versions[0].selectableFields[1].jsonPath: Duplicate value: ".spec.slug"'],
  },
  {
    reason: 'a selectable field exists',
    edit: select('.spec.nope'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field',
    ],
  },
  {
    reason: 'no inherited property as selectable field',
    edit: select('.spec.toString'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.toString": is an invalid path: does not refer to a valid field',
    ],
  },
  {
    reason: 'no name that JavaScript uses',
    edit: select('.spec.constructor'),
    texts: ['spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.constructor": cannot be indexed: '],
  },
  {
    reason: 'not the short name of metadata.name',
    edit: select('.name'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".name": cannot be indexed: Forbidden: name exists already in every model',
    ],
  },
  {
    reason: 'selectable fields have no lists',
    edit: select('.spec.tags[*]'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.tags[*]": is an invalid path: must be a simple path of names',
    ],
  },
  {
    reason: 'metadata is selectable anyway',
    edit: select('.metadata.name'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
    ],
  },
  {
    reason: 'selectable fields are exact',
    edit: select('.spec.ratio'),
    texts: [
      'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.ratio": must point to a field of type string, boolean or integer.',
    ],
  },
  {
    reason: 'indexes are checked',
    edit: (_, v) => (v.indexes = [{ name: 'metadata.name', path: 'metadata.name', type: 'string' }]),
    texts: ['spec.versions[0].indexes[0].name: Forbidden: metadata.name exists already in every model'],
  },
  {
    reason: 'an index is the same in all versions',
    edit: (d, v) => {
      v.indexes = [{ name: 'slug', path: 'spec.slug', type: 'string', unique: true }];
      d.spec.versions.push({
        ...v,
        name: 'v2',
        storage: false,
        indexes: [{ name: 'slug', path: 'spec.slug', type: 'string' }],
      });
    },
    texts: [
      'spec.versions[1].indexes: Invalid value: "slug": must be the same in every version: v1 has an index of that name with path spec.slug, type string, multi false, unique true, nullable true',
    ],
  },
  {
    reason: 'a selectable field has one type',
    edit: (d, v) => {
      v.selectableFields = [{ jsonPath: '.spec.slug' }];
      const schema: Required<DefinitionVersion>['schema'] = {
        openAPIV3Schema: {
          type: 'object',
          properties: { spec: { type: 'object', properties: { slug: { type: 'integer' } } } },
        },
      };
      d.spec.versions.push({ ...v, name: 'v2', storage: false, schema });
    },
    texts: [
      'spec.versions[1].selectableFields: Invalid value: "spec.slug": must be the same in every version: v1 has a selectable field of that name with path spec.slug, type string',
    ],
  },
  {
    reason: 'an index does not have the name of a selectable field',
    edit: (_, v) =>
      Object.assign(v, {
        selectableFields: [{ jsonPath: '.spec.slug' }],
        indexes: [{ name: 'spec.slug', path: 'spec.rank', type: 'integer' }],
      }),
    texts: [
      'spec.versions[0].selectableFields: Invalid value: "spec.slug": must be the same in every version: v1 has an index of that name with path spec.rank',
    ],
  },
  {
    reason: 'the number of indexes is limited over all versions',
    edit: (d, v) => {
      v.indexes = manyIndexes(0);
      d.spec.versions.push({ ...v, name: 'v2', storage: false, indexes: manyIndexes(40) });
    },
    texts: ['spec.versions: Invalid value: 80: may have at most 64 different indexes in all'],
  },
  {
    reason: 'no spec',
    edit: untyped((d) => delete (d as Record<string, unknown>)['spec']),
    texts: ['spec: Required value'],
  },
  {
    reason: 'a spec is an object',
    edit: untyped((d) => Object.assign(d, { spec: 'all' })),
    texts: ['spec: Invalid value: "string": spec in body must be of type object: "string"'],
  },
  {
    reason: 'wrong types give only type errors',
    edit: untyped((d) => Object.assign(d.spec, { scope: 7, group: 'x' })),
    texts: ['spec.scope: Invalid value: "number": spec.scope in body must be of type string: "number"'],
  },
  {
    reason: 'null is not a list',
    edit: untyped((d) => (d.spec['versions'] = null)),
    texts: ['spec.versions: Invalid value: "null": spec.versions in body must be of type array: "null"'],
  },
];

function manyIndexes(from: number): DeclaredIndex[] {
  return Array.from({ length: 40 }, (_, index) => ({ name: `i${from + index}`, path: 'spec.slug', type: 'string' }));
}

function regroup(definition: CustomResourceDefinition, group: string): void {
  definition.spec.group = group;
  definition.metadata.name = `posts.${group}`;
}

function replural(definition: CustomResourceDefinition, plural: string): void {
  definition.spec.names.plural = plural;
  definition.metadata.name = `${plural}.blog.example.com`;
}

function unapproved(definition: CustomResourceDefinition): void {
  regroup(definition, 'blog.k8s.io');
}

function approve(definition: CustomResourceDefinition, group: string, approval: string): void {
  regroup(definition, group);
  definition.metadata.annotations = { 'api-approved.kubernetes.io': approval };
}

function scale(paths: Record<string, string>): Edit {
  return (_, version) =>
    (version.subresources = {
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', ...paths },
    });
}

function column(version: DefinitionVersion, part: Record<string, unknown>): void {
  version.additionalPrinterColumns = [{ name: 'Title', type: 'string', jsonPath: '.spec.title', ...part }];
}

function select(...paths: string[]): Edit {
  return (_, version) => (version.selectableFields = paths.map((jsonPath) => ({ jsonPath })));
}

describe('refuses', () => {
  test.each(refused)('$reason', ({ edit, texts: expected }) => {
    const actual = refusals(edit);
    expect(actual).toHaveLength(expected.length);
    for (const [index, text] of expected.entries()) expect(actual[index]).toContain(text);
  });

  const immutable: { field: string; edit: Edit; text: string }[] = [
    {
      field: 'group',
      edit: (d) => regroup(d, 'news.example.com'),
      text: 'spec.group: Invalid value: "news.example.com": field is immutable',
    },
    {
      field: 'plural',
      edit: (d) => replural(d, 'articles'),
      text: 'spec.names.plural: Invalid value: "articles": field is immutable',
    },
    {
      field: 'kind',
      edit: (d) => (d.spec.names.kind = 'Article'),
      text: 'spec.names.kind: Invalid value: "Article": field is immutable',
    },
    {
      field: 'scope',
      edit: (d) => (d.spec.scope = 'Namespaced'),
      text: 'spec.scope: Invalid value: "Namespaced": field is immutable',
    },
  ];
  test.each(immutable)('refuses a change of $field', ({ edit, text }) => {
    expect(refusals(edit, define())).toEqual([text]);
  });

  test('refuses a schema that is not structural, with the message of the check', () => {
    const causes = validateDefinition(define(), {
      validateStructuralSchema: (_, field) => [
        { reason: 'FieldValueRequired', message: 'Required value', field: `${field}.type` },
      ],
    });
    expect(texts(causes)).toEqual(['spec.versions[0].schema.openAPIV3Schema.type: Required value']);
  });

  test('refuses a million mistakes with a short message', () => {
    const causes = validateDefinition(
      define(
        untyped((d) => Object.assign(d, { status: { storedVersions: Array.from({ length: 1_000_000 }, () => 0) } })),
      ),
      { validateStructuralSchema },
    );
    expect(causes).toHaveLength(100);
  });

  test('gives all causes in one answer', () => {
    const causes = validateDefinition(
      define((d) => (d.metadata.name = 'x')),
      { validateStructuralSchema },
    );
    expect(newInvalid({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }, 'x', causes).message).toBe(
      'CustomResourceDefinition.apiextensions.k8s.io "x" is invalid: metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
    );
  });
});

describe('accepts', () => {
  const accepted: { reason: string; edit: Edit }[] = [
    { reason: 'the least', edit: () => {} },
    { reason: 'capitals in a kind', edit: (d) => (d.spec.names.kind = 'BlogPost') },
    {
      reason: 'a declared index over a selectable field',
      edit: (_, v) =>
        Object.assign(v, {
          selectableFields: [{ jsonPath: '.spec.slug' }],
          indexes: [{ name: 'spec.slug', path: '.spec.slug', type: 'string', unique: true }],
        }),
    },
    { reason: 'selectable fields of each type', edit: select('.spec.slug', '.spec.rank', '.spec.live') },
    {
      reason: 'several values from the path alone',
      edit: (_, v) => (v.indexes = [{ name: 'tags', path: 'spec.tags[*]', type: 'string' }]),
    },
    { reason: 'a scale', edit: scale({ labelSelectorPath: '.status.selector' }) },
    {
      reason: 'an approved community group',
      edit: (d) => approve(d, 'gateway.networking.k8s.io', 'https://github.com/kubernetes/enhancements/pull/1111'),
    },
    {
      reason: 'an unapproved one with the annotation for it',
      edit: (d) => approve(d, 'blog.k8s.io', 'unapproved, an experiment'),
    },
    { reason: 'a group that only looks like a community group', edit: (d) => regroup(d, 'notk8s.io') },
    {
      reason: 'a deprecation',
      edit: (_, v) => Object.assign(v, { deprecated: true, deprecationWarning: 'Use v2, “soon”.' }),
    },
    ...[
      '.',
      '.metadata.creationTimestamp',
      '.a[0].b',
      ".a['b.c/d']",
      String.raw`.metadata.annotations.a\.b/c`,
      '.a[*]',
      '..a',
      '.a[?(@.b[0]=="]")].c',
    ].map((jsonPath) => ({
      reason: `the column ${jsonPath}`,
      edit: (_: CustomResourceDefinition, v: DefinitionVersion) => column(v, { jsonPath }),
    })),
  ];
  test.each(accepted)('$reason', ({ edit }) => {
    expect(refusals(edit)).toEqual([]);
  });

  test('accepts an unchanged old approval', () => {
    expect(refusals(unapproved, define(unapproved))).toEqual([]);
  });
});

test('no input makes it throw', () => {
  const fields = [
    'metadata',
    'spec',
    'status',
    'spec.names',
    'spec.group',
    'spec.versions',
    'spec.versions.0',
    'spec.versions.0.schema.openAPIV3Schema',
    'spec.versions.0.indexes',
    'spec.versions.0.selectableFields',
    'spec.conversion',
    'spec.names.shortNames',
    'spec.versions.0.subresources',
    'status.storedVersions',
  ];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(
      [{}],
      [null],
      ['\u0000'],
      { scale: {} },
      { scale: { specReplicasPath: '' } },
      [{ jsonPath: '.spec.slug' }],
      [{ name: '', path: '', type: '' }],
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...fields), value), { minLength: 1, maxLength: 3 }), (changes) => {
      const object = define(select('.spec.slug'));
      for (const [path, changed] of changes) set(object, path.split('.'), changed);
      const causes = validateDefinition(defaultDefinition(object), { validateStructuralSchema, old: object });
      expect(Array.isArray(causes)).toBe(true);
      if (causes.length === 0) modelFromDefinition(object);
    }),
    { numRuns: 500 },
  );
});

function set(target: unknown, [head, ...rest]: string[], value: unknown): void {
  if (typeof target !== 'object' || target === null || head === undefined) return;
  const container = target as Record<string, unknown>;
  if (rest.length === 0) container[head] = value;
  else set(container[head], rest, value);
}
