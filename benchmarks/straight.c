/* SPDX-License-Identifier: MIT
 * straight.c WEIGHTS PROMPT COUNT SECONDS: a small Qwen3 with a tied head in plain loops, in the style of llama2.c.
 * unrolled_peers.py compiles it, writes WEIGHTS, and says what the arguments and the output are. WEIGHTS is in this
 * machine's byte order: struct shape, then the tensors in the order of struct weights. A matrix is f32 [rows, columns];
 * with -DINT8 it is i8 of that shape, then an f32 scale for each 32 of them. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { group = 32, most_layers = 64 };

struct shape {
  int32_t vocab, dim, hidden, layers, heads, kv_heads, head_dim, context;
  float eps, theta;
};

#ifdef INT8
typedef struct { const int8_t *w; const float *scales; } matrix;
typedef struct { int8_t *x; float *scales; } vector; /* a quantised input */
static vector rounded;
#else
typedef const float *matrix, *vector;
#endif

struct weights {
  matrix embedding;
  struct {
    const float *norm;
    matrix q, k, v;
    const float *q_norm, *k_norm;
    matrix o;
    const float *mlp_norm;
    matrix gate, up, down;
  } layer[most_layers];
  const float *norm;
};

static struct shape s;
static struct weights w;
static float *x, *normed, *q, *heads_out, *gate, *up, *scores, *logits;
static float *keys, *values; /* [layers, context, kv_heads * head_dim] */
static float *turns;         /* [context, head_dim]: cosines, then sines */

static void *memory(size_t bytes) {
  void *at = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return at ? memset(at, 0, bytes) : (exit((fprintf(stderr, "straight: no memory\n"), 1)), NULL);
}
static const void *take(const char **at, size_t bytes) { return *at += bytes, *at - bytes; }
static const float *take_floats(const char **at, int n) { return take(at, sizeof(float) * (size_t)n); }

#ifdef INT8
static matrix take_matrix(const char **at, int rows, int columns) {
  const size_t n = (size_t)rows * (size_t)columns;
  const int8_t *const numbers = take(at, n);
  return (matrix){numbers, take(at, n / group * sizeof(float))};
}
static vector input(const float *in, int n) {
  for (int g = 0; g < n / group; ++g) {
    float most = 0;
    for (int i = 0; i < group; ++i) most = fmaxf(most, fabsf(in[g * group + i]));
    const float inverse = most > 0 ? 127 / most : 0;
    for (int i = 0; i < group; ++i) rounded.x[g * group + i] = (int8_t)roundf(in[g * group + i] * inverse);
    rounded.scales[g] = most / 127;
  }
  return rounded;
}
static void multiply(float *out, matrix m, vector in, int rows, int columns) {
  for (int r = 0; r < rows; ++r) {
    const int8_t *row = m.w + (size_t)r * (size_t)columns;
    const float *scales = m.scales + (size_t)r * (size_t)(columns / group);
    float sum = 0;
    for (int g = 0; g < columns / group; ++g) {
      int32_t part = 0;
      for (int i = 0; i < group; ++i) part += row[g * group + i] * in.x[g * group + i];
      sum += (float)part * scales[g] * in.scales[g];
    }
    out[r] = sum;
  }
}
static void look_up(float *out, matrix m, int row, int columns) {
  for (int i = 0; i < columns; ++i) {
    const size_t at = (size_t)row * (size_t)columns + (size_t)i;
    out[i] = (float)m.w[at] * m.scales[at / group];
  }
}
#else
static matrix take_matrix(const char **at, int rows, int columns) { return take_floats(at, rows * columns); }
static vector input(const float *in, int n) { return (void)n, in; }
static void multiply(float *out, matrix m, vector in, int rows, int columns) {
  for (int r = 0; r < rows; ++r) {
    const float *row = m + (size_t)r * (size_t)columns;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += row[i] * in[i];
    out[r] = sum;
  }
}
static void look_up(float *out, matrix m, int row, int columns) {
  memcpy(out, m + (size_t)row * (size_t)columns, (size_t)columns * sizeof(float));
}
#endif

static void load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) exit((perror(path), 1));
  const size_t bytes = (size_t)ftell(file);
  char *all = memory(bytes);
  rewind(file);
  if (fread(all, 1, bytes, file) != bytes) exit((perror(path), 1));
  fclose(file);
  const char *at = all;
  memcpy(&s, take(&at, sizeof s), sizeof s);
  const int attention = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  w.embedding = take_matrix(&at, s.vocab, s.dim);
  for (int l = 0; l < s.layers; ++l) {
    w.layer[l].norm = take_floats(&at, s.dim);
    w.layer[l].q = take_matrix(&at, attention, s.dim);
    w.layer[l].k = take_matrix(&at, kv, s.dim);
    w.layer[l].v = take_matrix(&at, kv, s.dim);
    w.layer[l].q_norm = take_floats(&at, s.head_dim);
    w.layer[l].k_norm = take_floats(&at, s.head_dim);
    w.layer[l].o = take_matrix(&at, s.dim, attention);
    w.layer[l].mlp_norm = take_floats(&at, s.dim);
    w.layer[l].gate = take_matrix(&at, s.hidden, s.dim);
    w.layer[l].up = take_matrix(&at, s.hidden, s.dim);
    w.layer[l].down = take_matrix(&at, s.dim, s.hidden);
  }
  w.norm = take_floats(&at, s.dim);
  if (at != all + bytes)
    exit((fprintf(stderr, "straight: %s: expected %zu bytes, found %zu\n", path, (size_t)(at - all), bytes), 1));

  const size_t widest = (size_t)(s.hidden > attention ? s.hidden : attention) + (size_t)s.dim;
  float **rows[] = {&x, &normed, &q, &heads_out, &gate, &up};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) *rows[i] = memory(widest * sizeof(float));
  scores = memory((size_t)s.context * sizeof(float)), logits = memory((size_t)s.vocab * sizeof(float));
  const size_t cache = (size_t)s.layers * (size_t)s.context * (size_t)kv * sizeof(float);
  keys = memory(cache), values = memory(cache);
  turns = memory((size_t)(s.context * s.head_dim) * sizeof(float));
  const int half = s.head_dim / 2;
  for (int t = 0; t < s.context; ++t)
    for (int i = 0; i < half; ++i) {
      const double angle = t * pow(s.theta, -(double)i / half);
      turns[t * s.head_dim + i] = (float)cos(angle), turns[t * s.head_dim + half + i] = (float)sin(angle);
    }
#ifdef INT8
  rounded.x = memory(widest), rounded.scales = memory(widest / group * sizeof(float) + sizeof(float));
#endif
}

static void rms_norm(float *out, const float *in, const float *weight, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i] * in[i];
  const float scale = 1 / sqrtf(sum / (float)n + s.eps);
  for (int i = 0; i < n; ++i) out[i] = in[i] * scale * weight[i];
}

/* Every head is normed; then its halves are rotated. `turn` has cos and sin of each pair at this position. */
static void norm_and_rotate(float *heads, int count, const float *weight, const float *turn) {
  const int half = s.head_dim / 2;
  for (int h = 0; h < count; ++h) {
    float *v = heads + h * s.head_dim;
    rms_norm(v, v, weight, s.head_dim);
    for (int i = 0; i < half; ++i) {
      const float a = v[i], b = v[i + half];
      v[i] = a * turn[i] - b * turn[half + i];
      v[i + half] = b * turn[i] + a * turn[half + i];
    }
  }
}

static void attend(float *out, const float *k, const float *v, int head, int position) {
  const int kv = s.kv_heads * s.head_dim, from = head / (s.heads / s.kv_heads) * s.head_dim;
  const float scale = 1 / sqrtf((float)s.head_dim);
  float most = -1e30f, sum = 0;
  for (int t = 0; t <= position; ++t) {
    float dot = 0;
    for (int i = 0; i < s.head_dim; ++i) dot += q[head * s.head_dim + i] * k[t * kv + from + i];
    scores[t] = dot * scale;
    most = fmaxf(most, scores[t]);
  }
  for (int t = 0; t <= position; ++t) sum += scores[t] = expf(scores[t] - most);
  memset(out, 0, (size_t)s.head_dim * sizeof(float));
  for (int t = 0; t <= position; ++t)
    for (int i = 0; i < s.head_dim; ++i) out[i] += scores[t] / sum * v[t * kv + from + i];
}

static void forward(int id, int position) {
  const int attention = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  const float *const turn = turns + position * s.head_dim;
  look_up(x, w.embedding, id, s.dim);
  for (int l = 0; l < s.layers; ++l) {
    float *const k = keys + (size_t)(l * s.context) * (size_t)kv, *const v = values + (k - keys);
    rms_norm(normed, x, w.layer[l].norm, s.dim);
    vector in = input(normed, s.dim);
    multiply(q, w.layer[l].q, in, attention, s.dim);
    multiply(k + position * kv, w.layer[l].k, in, kv, s.dim);
    multiply(v + position * kv, w.layer[l].v, in, kv, s.dim);
    norm_and_rotate(q, s.heads, w.layer[l].q_norm, turn);
    norm_and_rotate(k + position * kv, s.kv_heads, w.layer[l].k_norm, turn);
    for (int h = 0; h < s.heads; ++h) attend(heads_out + h * s.head_dim, k, v, h, position);
    multiply(normed, w.layer[l].o, input(heads_out, attention), s.dim, attention);
    for (int i = 0; i < s.dim; ++i) x[i] += normed[i];

    rms_norm(normed, x, w.layer[l].mlp_norm, s.dim);
    in = input(normed, s.dim);
    multiply(gate, w.layer[l].gate, in, s.hidden, s.dim);
    multiply(up, w.layer[l].up, in, s.hidden, s.dim);
    for (int i = 0; i < s.hidden; ++i) gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
    multiply(normed, w.layer[l].down, input(gate, s.hidden), s.dim, s.hidden);
    for (int i = 0; i < s.dim; ++i) x[i] += normed[i];
  }
  rms_norm(normed, x, w.norm, s.dim);
  multiply(logits, w.embedding, input(normed, s.dim), s.vocab, s.dim);
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int likeliest(void) {
  int best = 0;
  for (int i = 1; i < s.vocab; ++i) best = logits[i] > logits[best] ? i : best;
  return best;
}

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "usage: straight WEIGHTS PROMPT COUNT SECONDS\n"), 2;
  load(argv[1]);
  const int count = atoi(argv[3]);
  int *ids = memory((size_t)s.context * sizeof(int)), before = 0;
  for (char *at = argv[2]; *at && before < s.context; at += *at == ',') ids[before++] = (int)strtol(at, &at, 10);
  if (before + count > s.context) return fprintf(stderr, "straight: more ids than %d\n", s.context), 1;
  for (int t = 0; t < before + count - 1; ++t) {
    forward(ids[t], t);
    if (t >= before - 1) ids[t + 1] = likeliest();
  }
  for (int t = before; t < before + count; ++t) printf("%s%d", t == before ? "{\"ids\": [" : ", ", ids[t]);
  const double end = now(CLOCK_MONOTONIC) + atof(argv[4]);
  for (int run = 0; run == 0 || now(CLOCK_MONOTONIC) < end; ++run) {
    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int t = before; t < before + count; ++t) forward(ids[t], t);
    const double took = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%s[%.9f, %.9f]", run ? ", " : "], \"seconds\": [", took, now(CLOCK_MONOTONIC) - wall);
  }
  return printf("]}\n"), 0;
}
