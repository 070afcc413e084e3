-- get by key
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r),"albums_N"._v FROM "albums_N" WHERE "albums_N"."id_N"=$1::int8) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- get by filter
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r),"albums_N"._v FROM "albums_N" WHERE "albums_N"."title_N"=$1::text ORDER BY "albums_N"."id_N" LIMIT 1) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- list without count
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list with count
SELECT (SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE (("albums_N"."title_N"=$1::text) IS NOT TRUE) LIMIT 100001) c) AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE (("albums_N"."title_N"=$2::text) IS NOT TRUE) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- list with estimate
SELECT (SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE "albums_N"."id_N">$1::int8 LIMIT 1001) c) AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."id_N">$2::int8 ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- list that hides its key
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."title_N" AS "title") r) AS j,"albums_N"."id_N" FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list with versions
SELECT NULL::int8 AS total, p.present, p.c0,p.c1,p.c2 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j,"albums_N"."id_N","albums_N"._v FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) o(c0,c1,c2)) p ON true WHERE m.version=$1::int8

-- second page by offset
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM (SELECT * FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 2 OFFSET $1::int8) "albums_N") t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- far page by offset
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."id_N" IN (SELECT "albums_N"."id_N" FROM "albums_N" ORDER BY "albums_N"."id_N"
LIMIT 2 OFFSET $1::int8)
ORDER BY "albums_N"."id_N" LIMIT 2) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- filter through to-one
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$1::text)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- filter through to-many
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "artists_N"."id_N" AS "id","artists_N"."name_N" AS "name",to_char("artists_N"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("artists_N"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt") r) AS j FROM "artists_N" WHERE "artists_N"."id_N" IN (SELECT "t1"."artistsid_N" FROM "albums_N" "t1" WHERE ("t1"."artistsid_N" IS NOT NULL AND strpos(CASE WHEN $1::bool OR octet_length("t1"."title_N")=char_length("t1"."title_N") THEN lower("t1"."title_N" COLLATE "C") ELSE translate(lower("t1"."title_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$2::text)>0)) ORDER BY "artists_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- filter of lists and logic
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE ("albums_N"."id_N" = ANY($1::int8[]) OR (("albums_N"."title_N" LIKE $2::text ESCAPE '\') IS NOT TRUE)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- sort through to-one
SELECT NULL::int8 AS total, p.present, p.c0,p.c1,p.c2 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j,(SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N"),"albums_N"."id_N" FROM "albums_N" ORDER BY (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") DESC NULLS LAST,"albums_N"."id_N" DESC LIMIT 21) o(c0,c1,c2)) p ON true WHERE m.version=$1::int8

-- appends two levels deep
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "artists_N"."id_N" AS "id","artists_N"."name_N" AS "name",to_char("artists_N"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("artists_N"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt",(SELECT CASE WHEN count(*)>1000 THEN (('overflow:' || 'albums' || ':' || count(*))::int)::text::json
ELSE ('[' || coalesce(string_agg(j::text,',' ORDER BY n),'') || ']')::json END
FROM (SELECT row_number() OVER () AS n, j FROM (SELECT (SELECT to_json(r) FROM (SELECT "t1"."id_N" AS "id","t1"."title_N" AS "title",to_char("t1"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","t1"."live_N" AS "live","t1"."notes_N" AS "notes","t1"."words_N" AS "words","t1"."artistid_N" AS "artistId","t1"."artistsid_N" AS "artistsId",(SELECT to_json(r) FROM (SELECT "t2"."id_N" AS "id","t2"."name_N" AS "name",to_char("t2"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("t2"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt" FROM "artists_N" "t2" WHERE "t2"."id_N"="t1"."artistid_N" LIMIT 1) r) AS "artist") r) AS j FROM "albums_N" "t1" WHERE "t1"."artistsid_N"="artists_N"."id_N" ORDER BY "t1"."id_N" LIMIT 1001) o) q) AS "albums") r) AS j FROM "artists_N" ORDER BY "artists_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list of a relation
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE "albums_N"."artistsid_N"=(SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE "t1"."id_N"=$1::int8) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- get of a relation
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "artists_N"."id_N" AS "id","artists_N"."name_N" AS "name",to_char("artists_N"."createdat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",to_char("artists_N"."updatedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "updatedAt") r),"artists_N"._v FROM "artists_N" WHERE "artists_N"."id_N"=(SELECT "t1"."artistid_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=$1::int8) ORDER BY "artists_N"."id_N" LIMIT 1) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- list of a many-to-many relation
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id","tags_N"."name_N" AS "name",to_char("tags_N"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r) AS j FROM "tags_N" WHERE ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=$1::int8)) AND "tags_N"."deletedat_N" IS NULL) ORDER BY "tags_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- search
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE strpos(CASE WHEN $1::bool OR octet_length("albums_N"."title_N")=char_length("albums_N"."title_N") THEN lower("albums_N"."title_N" COLLATE "C") ELSE translate(lower("albums_N"."title_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$2::text)>0 ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- search with an index, in the order of keys
SELECT (SELECT count(*) FROM (SELECT 1 FROM "letters_N" WHERE ($1::bool AND translate(lower("letters_N"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" LIKE $2::text ESCAPE '\' /* planned for its values */) OR (NOT $3::bool AND strpos(CASE WHEN $4::bool OR octet_length("letters_N"."text_N")=char_length("letters_N"."text_N") THEN lower("letters_N"."text_N" COLLATE "C") ELSE translate(lower("letters_N"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$5::text)>0) LIMIT 100001) c) AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "letters_N"."id_N" AS "id","letters_N"."text_N" AS "text","letters_N"."day_N" AS "day") r) AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (WITH hits AS MATERIALIZED (SELECT r."id_N" AS id FROM (SELECT * FROM "letters_N" r ORDER BY "r"."id_N" DESC LIMIT 1000) r WHERE ($6::bool AND strpos(CASE WHEN $7::bool OR octet_length("r"."text_N")=char_length("r"."text_N") THEN lower("r"."text_N" COLLATE "C") ELSE translate(lower("r"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$8::text)>0) LIMIT 21) SELECT id FROM hits UNION ALL SELECT id FROM (SELECT r."id_N" AS id FROM (
SELECT r."id_N" FROM "letters_N" r WHERE ($9::bool AND (SELECT count(*) FROM hits)<21 AND translate(lower("r"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" LIKE $10::text ESCAPE '\' /* planned for its values */) OFFSET 0) r
ORDER BY "r"."id_N" DESC LIMIT 21) f UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM "letters_N" WHERE strpos(CASE WHEN $11::bool OR octet_length("letters_N"."text_N")=char_length("letters_N"."text_N") THEN lower("letters_N"."text_N" COLLATE "C") ELSE translate(lower("letters_N"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$12::text)>0 ORDER BY "letters_N"."id_N" DESC LIMIT CASE WHEN $13::bool THEN 0 ELSE 21 END) s)
ORDER BY "letters_N"."id_N" DESC LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$14::int8

-- search with an index, in another order
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "letters_N"."id_N" AS "id","letters_N"."text_N" AS "text","letters_N"."day_N" AS "day") r) AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (SELECT id FROM (SELECT r."id_N" AS id FROM (
SELECT r."id_N",r."day_N" FROM "letters_N" r WHERE ($1::bool AND (translate(lower("r"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" LIKE $2::text ESCAPE '\' /* planned for its values */ AND "r"."text_N" LIKE $3::text ESCAPE '\')) OFFSET 0) r
ORDER BY "r"."day_N" NULLS LAST,"r"."id_N" LIMIT 21) f UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM "letters_N" WHERE "letters_N"."text_N" LIKE $4::text ESCAPE '\' ORDER BY "letters_N"."day_N" NULLS LAST,"letters_N"."id_N" LIMIT CASE WHEN $5::bool THEN 0 ELSE 21 END) s)
ORDER BY "letters_N"."day_N" NULLS LAST,"letters_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$6::int8

-- next page of a search with an index
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "letters_N"."id_N" AS "id","letters_N"."text_N" AS "text","letters_N"."day_N" AS "day") r) AS j FROM "letters_N" WHERE "letters_N"."id_N" IN (SELECT id FROM (SELECT r."id_N" AS id FROM (
SELECT r."id_N" FROM "letters_N" r WHERE ($1::bool AND translate(lower("r"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" LIKE $2::text ESCAPE '\' /* planned for its values */) OFFSET 0) r
ORDER BY "r"."id_N" LIMIT 2 OFFSET $3::int8) f UNION ALL SELECT id FROM (SELECT "letters_N"."id_N" AS id FROM (SELECT * FROM "letters_N" WHERE strpos(CASE WHEN $4::bool OR octet_length("letters_N"."text_N")=char_length("letters_N"."text_N") THEN lower("letters_N"."text_N" COLLATE "C") ELSE translate(lower("letters_N"."text_N" COLLATE "und-x-icu"),'ς','σ') COLLATE "C" END,$5::text)>0 ORDER BY "letters_N"."id_N" LIMIT CASE WHEN $6::bool THEN 0 ELSE 2 END OFFSET $7::int8) "letters_N") s)
ORDER BY "letters_N"."id_N" LIMIT 2) t) o(c0,c1)) p ON true WHERE m.version=$8::int8

-- descending order of an indexed field that may be null
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT * FROM (SELECT (SELECT to_json(r) FROM (SELECT "letters_N"."id_N" AS "id","letters_N"."text_N" AS "text","letters_N"."day_N" AS "day") r) AS j FROM "letters_N" WHERE "letters_N"."day_N" IS NOT NULL ORDER BY "letters_N"."day_N" DESC,"letters_N"."id_N" DESC LIMIT 21) s UNION ALL SELECT * FROM (SELECT (SELECT to_json(r) FROM (SELECT "letters_N"."id_N" AS "id","letters_N"."text_N" AS "text","letters_N"."day_N" AS "day") r) AS j FROM "letters_N" WHERE "letters_N"."day_N" IS NULL ORDER BY "letters_N"."id_N" DESC LIMIT 21) s LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- filter by period
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE ("albums_N"."released_N">=$1::timestamptz AND "albums_N"."released_N"<$2::timestamptz) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- filter of list elements
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r) AS j FROM "albums_N" WHERE ("albums_N"."words_N" IS NOT NULL AND EXISTS (SELECT 1 FROM json_array_elements(CASE WHEN json_typeof("albums_N"."words_N")='array' THEN "albums_N"."words_N" ELSE '[]'::json END) e WHERE e.value::text=ANY($1::text[]))) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- list beside a trash
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id","tags_N"."name_N" AS "name",to_char("tags_N"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r) AS j FROM "tags_N" WHERE "tags_N"."deletedat_N" IS NULL ORDER BY "tags_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- list of a trash
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id","tags_N"."name_N" AS "name",to_char("tags_N"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r) AS j FROM "tags_N" WHERE (("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) ORDER BY "tags_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- append beside a trash
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId",(SELECT CASE WHEN count(*)>1000 THEN (('overflow:' || 'tags' || ':' || count(*))::int)::text::json
ELSE ('[' || coalesce(string_agg(j::text,',' ORDER BY n),'') || ']')::json END
FROM (SELECT row_number() OVER () AS n, j FROM (SELECT (SELECT to_json(r) FROM (SELECT "t1"."id_N" AS "id","t1"."name_N" AS "name",to_char("t1"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r) AS j FROM "tags_N" "t1" WHERE ("t1"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"="albums_N"."id_N") AND "t1"."deletedat_N" IS NULL) ORDER BY "t1"."id_N" LIMIT 1001) o) q) AS "tags") r) AS j FROM "albums_N" ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$1::int8

-- query
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT g."c0" AS "artist.name",g."c1" AS "released",CASE WHEN g."c2" BETWEEN -9007199254740991 AND 9007199254740991 THEN to_json(g."c2") ELSE to_json(g."c2"::text) END AS "count",g."c3" AS "max_id") r) AS j FROM (SELECT (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") AS "c0",(to_char(CASE WHEN "albums_N"."released_N" IS NOT NULL THEN least(greatest(CASE WHEN left($1::text,1) IN ('+','-') THEN ("albums_N"."released_N" AT TIME ZONE 'UTC')+$2::text::interval ELSE "albums_N"."released_N" AT TIME ZONE $3::text END,'0001-01-01'::timestamp),'9999-12-31 23:59:59.999'::timestamp) END,'YYYY-MM') COLLATE "C") AS "c1",count(*) AS "c2",max("albums_N"."id_N") AS "c3" FROM "albums_N" WHERE (("albums_N"."title_N"=$4::text) IS NOT TRUE) GROUP BY 1,2) g WHERE "g"."c2"<$5::int8 ORDER BY g."c0" NULLS LAST,g."c1" NULLS LAST LIMIT 1000) t) o(c0,c1)) p ON true WHERE m.version=$6::int8

-- restricted query
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT CASE WHEN g."c0" BETWEEN -9007199254740991 AND 9007199254740991 THEN to_json(g."c0") ELSE to_json(g."c0"::text) END AS "count") r) AS j FROM (SELECT count(*) AS "c0" FROM "albums_N" WHERE "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$1::text))) g LIMIT 1000) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- restricted list
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title","albums_N"."artistid_N" AS "artistId") r) AS j FROM "albums_N" WHERE "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$1::text)) ORDER BY "albums_N"."id_N" LIMIT 21) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- restricted get
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT (SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title","albums_N"."artistid_N" AS "artistId") r),"albums_N"._v FROM "albums_N" WHERE ("albums_N"."id_N"=$1::int8 AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE ("t1"."id_N" IS NOT NULL AND "t1"."name_N"=$2::text)))) o(c0,c1)) p ON true WHERE m.version=$3::int8

-- create
WITH w(k,c,p,s,o) AS (INSERT INTO "albums_N" ("title_N") SELECT * FROM (VALUES ($1::text)) v WHERE (SELECT version FROM _meta)=$2::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $3::timestamptz,'albums.created','albums',v,$4::text,$5::text,$6::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- create with a foreign key
WITH w(k,c,p,s,o) AS (INSERT INTO "albums_N" ("title_N","artistid_N") SELECT * FROM (VALUES ($1::text,$2::int8)) v WHERE (SELECT version FROM _meta)=$3::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $4::timestamptz,'albums.created','albums',v,$5::text,$6::text,$7::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- create two
INSERT INTO "albums_N" ("title_N") SELECT * FROM (VALUES ($1::text),($2::text)) v WHERE (SELECT version FROM _meta)=$3::int8 RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $1::timestamptz,'albums.created','albums',v,$2::text,$3::text,$4::json FROM (SELECT unnest($5::text[]) AS v) u RETURNING id

-- update by key
WITH w(k,c,p,s,o) AS (UPDATE "albums_N" SET "title_N"=$1::text,_v=_v+1 WHERE ("albums_N"."id_N"=$2::int8 AND (SELECT version FROM _meta)=$3::int8) RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)), e AS (INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $4::timestamptz,'albums.updated','albums',v,$5::text,$6::text,$7::json FROM (SELECT k::text AS v FROM w) u RETURNING id) SELECT k,c,p,s,o FROM w

-- update by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) LIMIT 100001) c
UPDATE "albums_N" SET "live_N"=$1::bool,_v=_v+1 WHERE ("albums_N"."title_N"=$2::text AND (SELECT version FROM _meta)=$3::int8) RETURNING "albums_N"."id_N","albums_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "albums_N"."id_N" AS "id","albums_N"."title_N" AS "title",to_char("albums_N"."released_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "released","albums_N"."live_N" AS "live","albums_N"."notes_N" AS "notes","albums_N"."words_N" AS "words","albums_N"."artistid_N" AS "artistId","albums_N"."artistsid_N" AS "artistsId") r)
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT $1::timestamptz,'albums.updated','albums',v,$2::text,$3::text,$4::json FROM (SELECT unnest($5::text[]) AS v) u RETURNING id

-- add of a link
SELECT "tags_N"."id_N","tags_N"."id_N" FROM "tags_N" WHERE ("tags_N"."id_N" = ANY($1::int8[]) AND "tags_N"."deletedat_N" IS NULL)
SELECT "albums_N"."id_N","albums_N"."id_N" FROM "albums_N" WHERE "albums_N"."id_N" = ANY($1::int8[])
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id") r) AS j FROM "tags_N" WHERE ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=$1::int8)) AND "tags_N"."deletedat_N" IS NULL) ORDER BY "tags_N"."id_N" LIMIT 1001) t) o(c0,c1)) p ON true WHERE m.version=$2::int8
SELECT "tags_N"."id_N","tags_N"."id_N" FROM "tags_N" WHERE ("tags_N"."id_N" = ANY($1::int8[]) AND "tags_N"."deletedat_N" IS NULL)
SELECT NULL::int8 AS total, p.present, p.c0,p.c1 FROM _meta m LEFT JOIN (SELECT true AS present, o.* FROM (SELECT string_agg(j::text,',
'),count(*) FROM (SELECT (SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id") r) AS j FROM "tags_N" WHERE ("tags_N"."id_N" IN (SELECT "tagsid_N" FROM "albumstags_N" WHERE "albumsid_N"=(SELECT "t1"."id_N" FROM "albums_N" "t1" WHERE "t1"."id_N"=$1::int8)) AND "tags_N"."deletedat_N" IS NULL) ORDER BY "tags_N"."id_N" LIMIT 1001) t) o(c0,c1)) p ON true WHERE m.version=$2::int8

-- restore of none
SELECT count(*) FROM (SELECT 1 FROM "tags_N" WHERE (((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND "tags_N"."name_N"=$1::text)) AND (SELECT version FROM _meta)=$2::int8) LIMIT 100001) c
UPDATE "tags_N" SET "deletedat_N"=$1::timestamptz,"deletedwith_N"=$2::int8,_v=_v+1 WHERE (((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND ((("tags_N"."deletedat_N" IS NULL) IS NOT TRUE) AND "tags_N"."name_N"=$3::text)) AND (SELECT version FROM _meta)=$4::int8) RETURNING "tags_N"."id_N","tags_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id","tags_N"."name_N" AS "name",to_char("tags_N"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r)

-- trash by filter
SELECT count(*) FROM (SELECT 1 FROM "tags_N" WHERE (("tags_N"."deletedat_N" IS NULL AND ("tags_N"."deletedat_N" IS NULL AND "tags_N"."name_N"=$1::text)) AND (SELECT version FROM _meta)=$2::int8) LIMIT 100001) c
UPDATE "tags_N" SET "deletedat_N"=$1::timestamptz,"deletedwith_N"=$2::int8,_v=_v+1 WHERE (("tags_N"."deletedat_N" IS NULL AND ("tags_N"."deletedat_N" IS NULL AND "tags_N"."name_N"=$3::text)) AND (SELECT version FROM _meta)=$4::int8) RETURNING "tags_N"."id_N","tags_N"._v,1,1,(SELECT to_json(r) FROM (SELECT "tags_N"."id_N" AS "id","tags_N"."name_N" AS "name",to_char("tags_N"."deletedat_N" AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "deletedAt") r)

-- destroy by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) LIMIT 100001) c
SELECT "albums_N"."id_N" FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8)
DELETE FROM "albums_N" WHERE ("albums_N"."title_N"=$1::text AND (SELECT version FROM _meta)=$2::int8) RETURNING "albums_N"."id_N"
