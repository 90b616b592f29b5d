/* SPDX-License-Identifier: MIT */
/* image.S: the image of a model, TOY_IMAGE, as data that stays where it is linked: in flash. */
  .section .image, "a"
  .balign 64
  .global toy_image, toy_image_end
toy_image:
  .incbin TOY_IMAGE
toy_image_end:
  .section .note.GNU-stack, "", %progbits
