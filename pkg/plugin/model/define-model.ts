import type { Static, TObject } from 'typebox';
import type {
  ApiObject,
  IndexedResourceType,
  IndexTypes,
  JsonSchema,
  PrinterColumn,
  ResourceType,
} from '#pkg/apimachinery/index';
import { defaultDefinition, validateDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import { toStructuralSchema } from './to-structural-schema.ts';
import { withIndexKeys } from './index-keys.ts';
import { declareIndex, type IndexTypesOf, type ModelIndex } from './model-index.ts';

export interface ModelOptions<
  Spec extends TObject,
  Status extends TObject,
  Indexes extends readonly ModelIndex[] = readonly ModelIndex[],
> {
  /** A domain: `blog.example.com`. */
  group: string;
  version: string;
  kind: string;
  /** Lowercase, as in URLs; so is `singular`. */
  plural: string;
  singular: string;
  /** Whether its objects live in namespaces. Default false. */
  namespaced?: boolean;
  shortNames?: readonly string[];
  categories?: readonly string[];
  spec: Spec;
  /** Written separately, at `/status`. */
  status?: Status;
  indexes?: Indexes;
  printerColumns?: readonly PrinterColumn[];
}

/** An object of a model in code: it always has a spec. */
export interface ModelObject<Spec, Status> extends ApiObject<Spec, Status> {
  spec: Spec;
}

/** A model in code: the types of its objects and indexes for a Client, and its definition. */
export interface DefinedModel<
  Spec = unknown,
  Status = unknown,
  Indexes extends IndexTypes = IndexTypes,
> extends IndexedResourceType<ModelObject<Spec, Status>, Indexes> {
  readonly definition: CustomResourceDefinition;
}

/** The objects of a model: `export type Post = ObjectOf<typeof Post>`. */
export type ObjectOf<M extends ResourceType> = NonNullable<M['object']>;

/**
 * Declares a model in code. `spec` and `status` are TypeBox schemas: they type the objects, and the server validates
 * with them. It has no side effects; `registerModel` registers it.
 * @throws TypeError that names the place, for schemas that a definition cannot express, and for names, indexes or
 * columns that the server would refuse
 */
export function defineModel<
  Spec extends TObject,
  Status extends TObject = never,
  const Indexes extends readonly ModelIndex[] = readonly [],
>(
  options: ModelOptions<Spec, Status, Indexes>,
): DefinedModel<Static<Spec>, StatusOf<Status>, IndexTypesOf<ModelObject<Static<Spec>, StatusOf<Status>>, Indexes>> {
  const { group, version, kind, plural, namespaced = false, status } = options;
  const definition = definitionOf(options);
  const causes = validateDefinition(defaultDefinition(withIndexKeys(definition, '')), {
    validateStructuralSchema: () => [],
  });
  if (causes.length > 0)
    throw new TypeError(
      `the model ${kind} cannot be: ${causes.map(({ field = '', message }) => `${field}: ${message}`).join('; ')}`,
    );
  return Object.freeze({
    group,
    version,
    kind,
    plural,
    namespaced,
    hasStatusSubresource: status !== undefined,
    definition,
  });
}

type StatusOf<Status extends TObject> = [Status] extends [never] ? never : Static<Status>;

function definitionOf(options: ModelOptions<TObject, TObject>): CustomResourceDefinition {
  const {
    group,
    version,
    kind,
    plural,
    singular,
    namespaced = false,
    shortNames = [],
    categories = [],
    status,
    printerColumns = [],
  } = options;
  const properties = {
    spec: toStructuralSchema(options.spec, 'spec'),
    ...(status === undefined ? {} : { status: toStructuralSchema(status, 'status') }),
  };
  const schema: JsonSchema = { type: 'object', required: ['spec'], properties };
  const indexes = (options.indexes ?? []).map((each) => declareIndex(each, schema));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        plural,
        singular,
        kind,
        ...(shortNames.length === 0 ? {} : { shortNames: [...shortNames] }),
        ...(categories.length === 0 ? {} : { categories: [...categories] }),
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(status === undefined ? {} : { subresources: { status: {} } }),
          ...(indexes.length === 0 ? {} : { indexes }),
          ...(printerColumns.length === 0 ? {} : { additionalPrinterColumns: [...printerColumns] }),
        },
      ],
    },
  };
}
