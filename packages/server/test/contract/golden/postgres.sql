-- get by key
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r),"albums_N"._v FROM "albums_N" WHERE "albums_N"."id_N"=$1::int4) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- get by filter
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r),"albums_N"._v FROM "albums_N" WHERE "albums_N"."title_N"=$1::text ORDER BY "albums_N"."id_N" LIMIT 1) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- list without count
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list with count
SELECT (SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE (("albums_N"."title_N"=$1::text) IS NOT TRUE) LIMIT 100001) c) AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE (("albums_N"."title_N"=$2::text) IS NOT TRUE) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- list with estimate
SELECT (SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE "albums_N"."id_N">$1::int4 LIMIT 1001) c) AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."id_N">$2::int4 ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- list that hides its key
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."title_N" AS "title") r) AS j,"albums_N"."id_N" FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list with versions
SELECT NULL::int8 AS total, p.present, p.c0,p.c1,p.c2 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j,"albums_N"."id_N","albums_N"._v FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) o(c0,c1,c2)) p ON true WHERE m.version=$1::int8

-- second page by offset
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM (SELECT * FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 2 OFFSET $1::int8) "albums_N") t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- filter through to-one
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$1::text)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- filter through to-many
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "artists_N"."id_N" AS "id","artists_N"."name_N" AS "name",to_char("artists_N"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("artists_N"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt") r) AS j FROM "artists_N" WHERE "artists_N"."id_N" IN (SELECT "t1"."artistsid_N" FROM "albums_N" "t1" WHERE ("t1"."artistsid_N" IS NOT NULL AND strpos(translate(lower("t1"."title_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C",$1::text)>0)) ORDER BY "artists_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- filter of lists and logic
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE ("albums_N"."id_N" = ANY($1::int4[]) OR (("albums_N"."title_N" LIKE $2::text ESCAPE '\') IS NOT TRUE)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- sort through to-one
SELECT NULL::int8 AS total, p.present, p.c0,p.c1,p.c2 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j,(SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N"),"albums_N"."id_N" FROM "albums_N" ORDER BY (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") DESC NULLS LAST,"albums_N"."id_N" DESC LIMIT 21) o(c0,c1,c2)) p ON true WHERE m.version=$1::int8

-- appends two levels deep
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "artists_N"."id_N" AS "id","artists_N"."name_N" AS "name",to_char("artists_N"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("artists_N"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt",(SELECT CASE WHEN count(*)>1000 THEN (('overflow:' || 'albums' || ':' || count(*))::int)::text::json
ELSE ('[' || coalesce(string_agg(j::text,',' ORDER BY n),'') || ']')::json END
FROM (SELECT row_number() OVER () AS n, j FROM (SELECT (SELECT to_json(r) FROM (SELECT "t1"."id_N" AS "id","t1"."title_N" AS "title",to_char("t1"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","t1"."live_N" AS "live","t1"."notes_N" AS "notes","t1"."artistid_N" AS "artistId","t1"."artistsid_N" AS "artistsId",(SELECT to_json(r) FROM (SELECT "t2"."id_N" AS "id","t2"."name_N" AS "name",to_char("t2"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("t2"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt" FROM "artists_N" "t2" WHERE "t2"."id_N"="t1"."artistid_N" LIMIT 1) r) AS "artist") r) AS j FROM "albums_N" "t1" WHERE "t1"."artistsid_N"="artists_N"."id_N" ORDER BY "t1"."id_N" LIMIT 1001) o) q) AS "albums") r) AS j FROM "artists_N" ORDER BY "artists_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- restricted list
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title","albums_N"."artistid_N" AS "artistId") r) AS j FROM "albums_N" WHERE "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$1::text)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- restricted get
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title","albums_N"."artistid_N" AS "artistId") r),"albums_N"._v FROM "albums_N" WHERE ("albums_N"."id_N"=$1::int4 AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$2::text)))) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- create
WITH w(k,c,p,s,o) AS (INSERT INTO "albums_N" ("title_N") SELECT * FROM (VALUES ($1::text)) v WHERE (SELECT version FROM _meta)=$2::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $3::timestamptz,'albums.created','albums',v,$4::text,$5::text,$6::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- create with a foreign key
WITH w(k,c,p,s,o) AS (INSERT INTO "albums_N" ("title_N","artistid_N") SELECT * FROM (VALUES ($1::text,$2::int4)) v WHERE (SELECT version FROM _meta)=$3::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $4::timestamptz,'albums.created','albums',v,$5::text,$6::text,$7::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- create two
INSERT INTO "albums_N" ("title_N") SELECT * FROM (VALUES ($1::text),($2::text)) v WHERE (SELECT version FROM _meta)=$3::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $1::timestamptz,'albums.created','albums',v,$2::text,$3::text,$4::json FROM (SELECT unnest($5::text[]) AS v) u RETURNING id

-- update by key
WITH w(k,c,p,s,o) AS (UPDATE "albums_N" SET "title_N"=$1::text,_v=_v+1 WHERE ("albums_N"."id_N"=$2::int4 AND (SELECT version FROM _meta)=$3::int8) RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $4::timestamptz,'albums.updated','albums',v,$5::text,$6::text,$7::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- update by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) LIMIT 10001) c
UPDATE "albums_N" SET "live_N"=$1::bool,_v=_v+1 WHERE ("albums_N"."title_N"=$2::text AND (SELECT version FROM _meta)=$3::int8) RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $1::timestamptz,'albums.updated','albums',v,$2::text,$3::text,$4::json FROM (SELECT unnest($5::text[]) AS v) u RETURNING id

-- destroy by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) LIMIT 10001) c
DELETE FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) RETURNING "albums_N"."id_N"
