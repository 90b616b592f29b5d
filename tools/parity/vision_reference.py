# SPDX-License-Identifier: MIT
"""vision_reference.py: random vision checkpoints, and transformers' results for them in float64."""

import contextlib
import json
import shutil

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoImageProcessor, AutoProcessor
from transformers.utils import logging
from transformers.video_utils import VideoMetadata

import vision_tokens

logging.set_verbosity_error()
logging.disable_progress_bar()
torch.set_num_threads(1)


@contextlib.contextmanager
def in_float64():
    """Everything in float64, also what transformers' sources ask for in float32: softmax, norms and angles."""
    kept = torch.float32, torch.float, torch.Tensor.float, torch.arange
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    # Idefics 3 finds positions by comparing quotients: rounded otherwise they are other positions.
    torch.arange = lambda *size, dtype=None, **more: kept[3](*size, dtype=kept[0] if dtype is torch.float64 else dtype, **more)
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float, torch.arange = kept


def randomise(model, seed, dtype):
    """Every number random, in steps of `dtype`. transformers leaves norms at one and biases at zero, and hides mistakes by it."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda t, scale: torch.randn(t.shape, generator=generator) * scale
    # Tied, a token's embedding would drown the layers and every token follow itself.
    tokens = 0.1 if getattr(model.config, "tie_word_embeddings", False) else 0.4
    with torch.no_grad():
        for name, number in [*model.named_parameters(), *learned_buffers(model)]:
            last = name.rsplit(".", 1)[-1]
            if last in ("input_min", "output_min"):
                number.copy_(-(1.0 + draw(number, 0.2).abs()))
            elif last in ("input_max", "output_max"):
                number.copy_(1.2 + draw(number, 0.2).abs())
            elif last in ("layer_scalar", "std_scale"):
                number.copy_(0.8 + draw(number, 0.2))
            elif last == "weight" and ("norm" in name or number.dim() == 1) or last == "scale":
                number.copy_(0.7 + draw(number, 0.15))
            elif "embed_tokens" in name or "lm_head" in name or "token_embedding" in name:
                number.copy_(draw(number, tokens))
            else:
                number.copy_(draw(number, 0.25))
            number.copy_(number.to(dtype))
    return model.eval()


def learned_buffers(model):
    return [(name, buffer) for name, buffer in model.named_buffers() if name.endswith((
        "input_min", "input_max", "output_min", "output_max", "layer_scalar", "std_bias", "std_scale", "expert_bias"))]


def write(family, directory, seed, dtype=torch.bfloat16):
    """The checkpoint of a family as published ones are: weights, config, tokenizer, template, the processor's files."""
    shutil.rmtree(directory, ignore_errors=True)
    model = randomise(family.model._from_config(family.config, dtype=torch.float32), seed, dtype)
    model.to(dtype).save_pretrained(directory)
    rename(directory / "model.safetensors", family.renames, family.transposed)
    (directory / "generation_config.json").unlink(missing_ok=True)
    vision_tokens.save(family.tokenizer, family.tokenizer_config, directory)
    for name, content in family.files.items():
        (directory / name).write_text(json.dumps(content, indent=1) + "\n")
    if family.template:
        (directory / "chat_template.jinja").write_text(family.template)
    for file in directory.iterdir():
        file.chmod(0o644)  # safetensors makes private files


def rename(file, prefixes, transposed):
    with safe_open(file, "pt") as f:
        tensors, metadata = {name: f.get_tensor(name) for name in f.keys()}, f.metadata()
    for old, new in prefixes.items():
        tensors = {new + name.removeprefix(old) if name.startswith(old) else name: t for name, t in tensors.items()}
    tensors = {name: t.transpose(1, 2).contiguous() if name.endswith(transposed) else t for name, t in tensors.items()}
    save_file(tensors, file, metadata)


class Reference:
    """A checkpoint's directory in transformers."""

    def __init__(self, family, directory, config=None):
        self.family = family
        self.model = family.model.from_pretrained(directory, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager",
                                                  config=config).eval()
        self.processor = AutoProcessor.from_pretrained(directory)
        self.processor.image_processor = AutoImageProcessor.from_pretrained(directory, backend="pil")
        self.config = self.model.config
        self.never = [family.tokenizer.token_to_id(t) for t in (*family.never, family.tokenizer_config["eos_token"])]

    def pixels(self, images):
        """What the image processor makes of PIL images: {name: tensor}."""
        asked = {"do_convert_rgb": True}  # Gemma 3's file leaves it open
        if hasattr(self.processor, "spatial_merge_size"):
            asked["patch_size"] = self.processor.patch_size * self.processor.spatial_merge_size
        made = self.processor.image_processor(images, return_tensors="pt", **asked)
        return {k: v for k, v in made.items() if isinstance(v, torch.Tensor)}

    def message(self, text, files, clip=None):
        """A message with images before and between the words of `text`; of three, two side by side and one at the end. A video comes first."""
        words, parts = text.split(" "), []
        if clip:
            parts.append({"type": "video", "video": clip.names, "fps": clip.fps})
        if len(files) == 3:
            pictures = [{"type": "image", "image": file} for file in files]
            return [{"role": "user", "content": [*pictures[:2], {"type": "text", "text": text}, pictures[2]]}]
        cuts = [len(words) * i // max(len(files), 1) for i in range(len(files))] + [len(words)]
        for i, file in enumerate(files):
            parts.append({"type": "image", "image": file})
            parts.append({"type": "text", "text": " ".join(words[cuts[i]:cuts[i + 1]])})
        return [{"role": "user", "content": parts or [{"type": "text", "text": text}]}]

    def prompt(self, messages):
        return self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)

    def inputs(self, messages, images, clip=None):
        text, more = self.prompt(messages), {}
        if clip:
            about = VideoMetadata(total_num_frames=len(clip.frames), fps=clip.fps, frames_indices=list(range(len(clip.frames))))
            frames = torch.stack([torch.from_numpy(np.array(frame.convert("RGB"))).permute(2, 0, 1) for frame in clip.frames])
            more = {"videos": [frames], "video_metadata": [about], "do_sample_frames": False}
        bos = getattr(self.processor.tokenizer, "bos_token", None)
        return self.processor(text=[text], images=images or None, return_tensors="pt", add_special_tokens=not (bos and text.startswith(bos)), **more)

    @torch.no_grad()
    def features(self, pixels):
        """float64 [rows, width]: the rows that enter the text model, and deepstack's beside them."""
        with in_float64():
            pixels = {k: v.double() if v.is_floating_point() else v for k, v in pixels.items()}
            asked = {k: v for k, v in pixels.items() if k not in ("num_soft_tokens_per_image", "num_crops")}
            if self.family.processor == "SiglipProcessor":
                return self.model.vision_model(**asked).last_hidden_state.flatten(0, 1).numpy()
            return self.rows_of(self.model.get_image_features(**asked))

    @torch.no_grad()
    def clip_features(self, inputs):
        """The same of the video of a prompt."""
        with in_float64():
            return self.rows_of(self.model.get_video_features(inputs["pixel_values_videos"].double(), inputs["video_grid_thw"]))

    @staticmethod
    def rows_of(out):
        rows = out.pooler_output
        rows = torch.cat(list(rows)) if isinstance(rows, (list, tuple)) else rows.flatten(0, -2)
        taps = [torch.cat(list(t)) if isinstance(t, (list, tuple)) else t for t in getattr(out, "deepstack_features", None) or []]
        return torch.cat([rows, *taps], dim=-1).numpy()

    @torch.no_grad()
    def pooled(self, pixels):
        with in_float64():
            return self.model.vision_model(pixels["pixel_values"].double()).pooler_output.numpy()

    @torch.no_grad()
    def logits(self, inputs, more=()):
        """float64 [length, vocabulary] of one pass over a prompt and the ids `more`."""
        asked = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items() if isinstance(v, torch.Tensor)}
        for name, value in (("input_ids", None), ("attention_mask", 1), ("mm_token_type_ids", 0), ("token_type_ids", 0)):
            if name in asked and more:
                added = torch.tensor([list(more)]) if value is None else torch.full((1, len(more)), value)
                asked[name] = torch.cat([asked[name], added.to(asked[name].dtype)], dim=1)
        if hasattr(self.model, "model") and hasattr(self.model.model, "rope_deltas"):
            self.model.model.rope_deltas = None
        if "second_per_grid_ts" in inputs:
            asked["position_ids"] = self.rope_index(asked | {"second_per_grid_ts": inputs["second_per_grid_ts"]})
        with in_float64():
            return self.model(**asked, use_cache=False).logits[0].numpy()

    def greedy(self, inputs, count):
        """(ids, the smallest gap between the best and the second)."""
        ids, gap = [], np.inf
        for _ in range(count):
            row = self.logits(inputs, ids)[-1]
            best = np.sort(row)
            gap = min(gap, float(best[-1] - best[-2]))
            ids.append(int(row.argmax()))
            if ids[-1] in self.never:
                break
        return ids, gap

    def positions(self, inputs):
        """[3, length] of a family that counts three axes, else None."""
        if not hasattr(self.model, "model") or not hasattr(self.model.model, "get_rope_index") or "image_grid_thw" not in inputs:
            return None
        return self.rope_index(inputs)[:, 0].tolist()

    def rope_index(self, inputs):
        """[3, 1, length]. Qwen2.5-VL's text goes on after the longest axis of a video, as in the code of its authors and in
        transformers' decoding; transformers 5.23 leaves time out in prompts."""
        names = "input_ids", "mm_token_type_ids", "image_grid_thw", "video_grid_thw", "second_per_grid_ts", "attention_mask"
        positions = self.model.model.get_rope_index(**{k: inputs[k] for k in names if k in inputs})[0]
        kinds, begin = inputs["mm_token_type_ids"][0].tolist(), 0
        for at in range(1, len(kinds) if "second_per_grid_ts" in inputs else 0):
            if kinds[at] == 2 and kinds[at - 1] != 2:
                begin = at
            if kinds[at] != 2 and kinds[at - 1] == 2:
                positions[:, :, at:] += positions[:, 0, begin:at].max() + 1 - positions[0, 0, at]
        return positions

    @torch.no_grad()
    def scores(self, texts, pixels):
        """SigLIP's: (ids [texts, length], pooled texts, scores [images, texts])."""
        ids = self.processor.tokenizer(texts, padding="max_length", return_tensors="pt")["input_ids"]
        with in_float64():
            out = self.model(input_ids=ids, pixel_values=pixels["pixel_values"].double())
            return ids, out.text_model_output.pooler_output.numpy(), out.logits_per_image.numpy()
