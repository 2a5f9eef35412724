/** A schema as the server's OpenAPI documents have it, as much of it as the console shows. */
export interface OpenApiSchema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  nullable?: boolean;
  required?: string[];
  properties?: Record<string, OpenApiSchema>;
  additionalProperties?: OpenApiSchema | boolean;
  items?: OpenApiSchema;
  allOf?: OpenApiSchema[];
  anyOf?: OpenApiSchema[];
  oneOf?: OpenApiSchema[];
  not?: OpenApiSchema;
  $ref?: string;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
  'x-kubernetes-selectable-fields'?: { fieldPath: string }[];
}

export interface ModelSchema {
  root: OpenApiSchema;
  /** What a `$ref` names. */
  shared: Readonly<Record<string, OpenApiSchema>>;
}

/** The schema that a reference means, with what stands next to the reference. Further rules stay in `allOf`. */
export function resolved(schema: OpenApiSchema, shared: ModelSchema['shared']): OpenApiSchema {
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref === undefined ? [] : [{ $ref }]), ...allOf];
  const rules = allOf.filter((part) => part.$ref === undefined);
  return parts.reduce<OpenApiSchema>(
    (found, part) => {
      const { $ref: reference, ...rest } = part;
      const named = reference === undefined ? {} : shared[reference.slice('#/components/schemas/'.length)];
      return { ...named, ...rest, ...found };
    },
    rules.length === 0 ? own : { ...own, allOf: rules },
  );
}
