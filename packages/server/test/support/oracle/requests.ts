import type { Filter } from './model.ts';

export interface ListRequest {
  readonly filter: Filter;
  readonly sort: readonly string[];
  readonly fields: readonly string[] | null;
  readonly except: readonly string[];
  readonly appends: readonly string[];
  readonly search: string | null;
  readonly searchFields: readonly string[] | null;
  readonly trash: 'without' | 'with' | 'only';
}

export interface QueryRequest {
  readonly measures: readonly {
    readonly field?: string;
    readonly aggregation: 'count' | 'sum' | 'avg' | 'min' | 'max';
    readonly distinct?: boolean;
    readonly alias: string;
  }[];
  readonly dimensions: readonly { readonly field: string; readonly alias: string; readonly format?: string }[];
  readonly filter: Filter;
  readonly having: Filter;
  readonly orders: readonly { readonly alias: string; readonly order: 'asc' | 'desc' }[];
  readonly limit: number;
  readonly offset: number;
}
